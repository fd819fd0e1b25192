"""Amazon Translate through boto3, with the standard AWS credentials and region settings."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.http_client.retries import TransientError, call_with_retries, is_transient, parse_retry_after
from tiltmeter.registry import import_extra
from tiltmeter.translators.translator_protocol import Price, ServiceTranslator

SERVICE = "Amazon Translate"
# Errors that are transient although their HTTP status is 400.
_THROTTLED = ("ThrottlingException", "TooManyRequestsException", "LimitExceededException")


class AmazonTranslator(ServiceTranslator):
    """Amazon Translate; `endpoint` overrides the address of the service."""

    name = "amazon"
    price = Price(15.0, "USD", "AWS price list for standard text translation, 2024")
    batch_size = 1

    def __init__(self, endpoint: str | None = None) -> None:
        self.key = "amazon"
        # The word to keep untranslated, and the name of the imported terminology for this word (empty before the
        # import).
        self._protected = self._terminology = ""
        boto3 = import_extra("boto3", "amazon", SERVICE)
        self._errors = import_extra("botocore.exceptions", "amazon", SERVICE)
        config = import_extra("botocore.config", "amazon", SERVICE).Config(retries={"total_max_attempts": 1})
        try:
            # Use a new session, because the default session caches the credentials of its first use.
            self._client: Any = boto3.Session().client("translate", endpoint_url=endpoint, config=config)
        except self._errors.NoRegionError as error:
            raise UsageError(
                f"{SERVICE} needs a region: set AWS_DEFAULT_REGION, for example to eu-west-1, or run `aws configure`."
            ) from error
        except self._errors.BotoCoreError as error:
            raise UsageError(f"{SERVICE} cannot be set up from your AWS configuration: {error}.") from error

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """Return the translations; one request is sent per text."""
        if self._protected and not self._terminology:
            self._terminology = call_with_retries(lambda: self._import_terminology(language), SERVICE)
        return [call_with_retries(lambda text=text: self._send_text(text, language), SERVICE) for text in texts]  # type: ignore[misc]

    def with_protected_word(self, word: str, language: str) -> "AmazonTranslator":
        """Return a copy that keeps `word` untranslated with a custom terminology, which is imported on first use."""
        other = copy(self)
        other._protected = word
        other.key = f"amazon terminology {word} {language}"
        return other

    def _import_terminology(self, language: str) -> str:
        name = f"tiltmeter-{self._protected}-{language}"
        content = f"{self.source},{language}\n{self._protected},{self._protected}".encode()
        data = {"File": content, "Format": "CSV"}
        self._call_service(
            lambda: self._client.import_terminology(Name=name, MergeStrategy="OVERWRITE", TerminologyData=data),
            f"rejected the terminology {name}",
        )
        return name

    def _send_text(self, text: str, language: str) -> str:
        request: dict[str, Any] = {"Text": text, "SourceLanguageCode": self.source, "TargetLanguageCode": language}
        if self._terminology:
            request["TerminologyNames"] = [self._terminology]
        answer = self._call_service(
            lambda: self._client.translate_text(**request), f"cannot translate into {language!r}"
        )
        translation: str = answer["TranslatedText"]
        return translation

    def _call_service(self, call: Callable[[], Any], failure: str) -> Any:
        """Send a request, and convert errors of boto3 to errors of Tiltmeter with the text `failure` in the message."""
        errors = self._errors
        try:
            return call()
        except (errors.NoCredentialsError, errors.PartialCredentialsError) as error:
            raise UsageError(
                f"{SERVICE} needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure`."
            ) from error
        except errors.ClientError as error:
            metadata = error.response.get("ResponseMetadata", {})
            code, status = error.response.get("Error", {}).get("Code", ""), metadata.get("HTTPStatusCode", 0)
            if code in _THROTTLED or is_transient(status):
                after = parse_retry_after(metadata.get("HTTPHeaders", {}).get("retry-after"))
                raise TransientError(f"the reply is {status} {code}", after) from error
            raise ModelError(f"{SERVICE} {failure}: {error}.") from error
        except (errors.HTTPClientError, errors.ConnectionError) as error:
            raise TransientError(str(error)) from error
        except errors.BotoCoreError as error:
            raise ModelError(f"{SERVICE} {failure}: {error}.") from error
