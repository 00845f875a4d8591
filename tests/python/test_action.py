"""The comment of the Action, against a server that stands for GitHub's API."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

COMMENT = Path(__file__).parents[2] / "action" / "comment"
ISSUES = "/repos/owner/name/issues"


class GitHub(BaseHTTPRequestHandler):
    """Comments of one pull request; a full page of others' comes first."""

    def do_GET(self):
        path, _, query = self.path.partition("?")
        assert path == f"{ISSUES}/7/comments"
        page = int(query.rpartition("page=")[2])
        self.answer(200, self.server.comments[(page - 1) * 100 : page * 100])

    def do_POST(self):
        body = self.body()
        if self.server.refuses:
            self.answer(403, {"message": "Resource not accessible by integration"})
            return
        assert self.path == f"{ISSUES}/7/comments"
        self.server.comments.append({"id": 1000 + len(self.server.comments), **body})
        self.answer(201, {})

    def do_PATCH(self):
        body, number = self.body(), int(self.path.rpartition("/")[2])
        next(it for it in self.server.comments if it["id"] == number).update(body)
        self.answer(200, {})

    def body(self):
        assert self.headers["Authorization"] == "Bearer secret"
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, code, value):
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def github():
    server = ThreadingHTTPServer(("127.0.0.1", 0), GitHub)
    server.refuses = False
    server.comments = [{"id": n, "body": "by somebody"} for n in range(100)]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def comment(github, folder, result):
    (folder / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
    (folder / "result.md").write_text(result)
    environment = {
        "PATH": os.environ["PATH"],
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_REPOSITORY": "owner/name",
        "GITHUB_API_URL": f"http://127.0.0.1:{github.server_port}",
        "GITHUB_SERVER_URL": "https://example.org",
        "GITHUB_RUN_ID": "42",
        "GITHUB_TOKEN": "secret",
    }
    command = [sys.executable, COMMENT, folder / "result.md"]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_a_comment_is_written_once_and_then_renewed(github, tmp_path):
    comment(github, tmp_path, "a regression")
    comment(github, tmp_path, "no regression")
    own = github.comments[100:]
    assert len(own) == 1
    body = own[0]["body"]
    assert "no regression" in body and "a regression" not in body
    assert "https://example.org/owner/name/actions/runs/42" in body


def test_a_long_result_is_shortened_to_what_github_takes(github, tmp_path):
    comment(github, tmp_path, "a line\n" * 20_000)
    body = github.comments[-1]["body"]
    assert len(body) < 65_536
    assert "(shortened; the page has all)" in body


def test_a_token_that_may_not_write_fails_no_check(github, tmp_path):
    github.refuses = True
    said = comment(github, tmp_path, "a regression")
    assert said.startswith("::warning title=thrashlab::no comment: POST")
    assert len(github.comments) == 100
