"""Opening the browser at the start."""

import json
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE

# Stands for a browser: it writes down its arguments and what the page that they name leads to, and ends the studio.
BROWSER = """
import json, os, re, signal, stat, sys, urllib.request
from pathlib import Path
page = Path(urllib.request.url2pathname(sys.argv[1].removeprefix("file://")))
address = re.search("url=([^\\"]+)", page.read_text(encoding="utf-8"))[1]
cookies = urllib.request.HTTPCookieProcessor()
answer = urllib.request.build_opener(cookies).open(address)
mode = stat.S_IMODE(page.stat().st_mode)
Path(sys.argv[2]).write_text(json.dumps([sys.argv[1], address, mode, answer.status, answer.url]), encoding="utf-8")
os.kill(int(sys.argv[3]), signal.SIGINT)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="BROWSER is a command line of Unix")
def test_the_token_is_not_among_the_arguments_of_the_browser(tmp_path: Path) -> None:
    work, script, seen = tmp_path / "work", tmp_path / "browser.py", tmp_path / "seen.json"
    work.mkdir()
    script.write_text(BROWSER, encoding="utf-8")
    browser = f"{shlex.join([sys.executable, str(script)])} %s {shlex.quote(str(seen))} "
    started = (
        "import os; from pathlib import Path; from tiltmeter.studio.server import open_socket, run_server; "
        "from tiltmeter.studio.studio_config import build_local_config; "
        f"os.environ['BROWSER'] = {browser!r} + str(os.getpid()); "
        "listening = open_socket('127.0.0.1', 0); "
        f"run_server(build_local_config(Path({str(work)!r}), listening.getsockname()[1]), listening, open_browser=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", started], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    opened, address, mode, status, reached = json.loads(seen.read_text(encoding="utf-8"))
    token = address.partition("token=")[2]
    assert token
    assert token in done.stdout
    assert token not in opened
    # It listens when the browser opens, and lets it in.
    assert (status, reached.endswith("/runs")) == (200, True)
    assert mode == stat.S_IRUSR | stat.S_IWUSR
    assert not (work / ".tiltmeter-studio" / "open.html").exists()
