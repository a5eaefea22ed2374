"""A hub of Hugging Face on this machine, as far as publishing and reading need it."""

import base64
import hashlib
import http.server
import json
import re
import threading

TOKEN = "hf_of_the_test"


class StandInHub(http.server.ThreadingHTTPServer):
    """Holds repositories in memory. Large files are those that end in .safetensors.

    Attributes:
        repositories: dict of "owner/name" to a list of commits, each a dict of the name
            to the content of all files.
        objects: dict of SHA-256 to bytes, large files that were sent.
        refused: set of paths of requests, or parts of them, that end with status 500.
    """

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories, self.objects, self.refused = {}, {}, set()
        self.visibility = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        """The address, for HF_ENDPOINT."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def files(self, repository):
        """The files of the last commit, dict of name to bytes."""
        commits = self.repositories[repository]
        return commits[-1] if commits else {}


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        """Prints nothing."""

    def do_POST(self):
        """Makes repositories, and commits to them."""
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        path = self.path.split("?")[0]
        if self._refused(path):
            return
        if path == "/api/validate-yaml":
            self._reply({"errors": [], "warnings": []})
        elif path == "/api/repos/create":
            self._create(json.loads(body))
        elif found := re.fullmatch("/api/models/(.+)/preupload/main", path):
            self._preupload(found[1], json.loads(body))
        elif found := re.fullmatch(r"/(.+)\.git/info/lfs/objects/batch", path):
            self._upload_places(json.loads(body))
        elif found := re.fullmatch("/api/models/(.+)/commit/main", path):
            self._commit(found[1], body)
        else:
            self._reply({"error": "Not found"}, 404)

    def do_PUT(self):
        """Takes a large file."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.objects[hashlib.sha256(body).hexdigest()] = body
        self._reply({})

    def do_HEAD(self):
        """Says what `do_GET` would send."""
        self.do_GET()

    def do_GET(self):
        """Describes repositories, and sends files."""
        path = self.path.split("?")[0]
        if found := re.fullmatch("/api/models/([^/]+/[^/]+)/tree/[^/]+", path):
            files = self._files(found[1])
            if files is not None:
                self._reply([_entry(*item) for item in files.items()])
        elif found := re.fullmatch("/api/models/([^/]+/[^/]+)(/revision/.+)?", path):
            files = self._files(found[1])
            if files is not None:
                siblings = [{"rfilename": name} for name in files]
                identity = {"id": found[1], "modelId": found[1], "private": False}
                self._reply({**identity, "sha": _sha(files), "siblings": siblings})
        elif found := re.fullmatch("/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path):
            files = self._files(found[1])
            if files is not None:
                self._send(files[found[2]], _sha(files))
        else:
            self._reply({"error": "Not found"}, 404)

    def _refused(self, path):
        """Whether the request is answered with an error."""
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._reply({"error": "Invalid username or password."}, 401)
        elif any(part in path for part in self.server.refused):
            self._reply({"error": "The hub is out of order."}, 500)
        else:
            return False
        return True

    def _create(self, fields):
        name = f"{fields['organization']}/{fields['name']}"
        if name.startswith("somebody/"):
            self._reply({"error": "You may not write there."}, 403)
            return
        known = name in self.server.repositories
        self.server.repositories.setdefault(name, [])
        self._reply({"url": f"{self.server.address}/{name}"}, 409 if known else 200)

    def _preupload(self, repository, fields):
        modes = [
            {
                "path": file["path"],
                "uploadMode": _mode(file["path"]),
                "shouldIgnore": False,
            }
            for file in fields["files"]
        ]
        self._reply({"files": modes})

    def _upload_places(self, fields):
        objects = [
            {
                **item,
                "actions": {"upload": {"href": f"{self.server.address}/{item['oid']}"}},
            }
            for item in fields["objects"]
        ]
        self._reply({"transfer": "basic", "objects": objects})

    def _commit(self, repository, body):
        files = dict(self.server.files(repository))
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.server.objects[value["oid"]]
        self.server.repositories[repository].append(files)
        address = f"{self.server.address}/{repository}/commit/{_sha(files)}"
        self._reply({"commitUrl": address, "commitOid": _sha(files)})

    def _files(self, repository):
        """The files of a repository; None after the answer that there is none."""
        if repository in self.server.repositories:
            return self.server.files(repository)
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return None

    def _reply(self, value, status=200):
        self._send(json.dumps(value).encode(), None, status, "application/json")

    def _send(self, content, commit, status=200, kind="application/octet-stream"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if commit:
            self.send_header("X-Repo-Commit", commit)
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _mode(path):
    return "lfs" if path.endswith(".safetensors") else "regular"


def _entry(name, content):
    """What a list of files says of one."""
    oid = hashlib.sha1(content).hexdigest()
    entry = {"type": "file", "path": name, "size": len(content), "oid": oid}
    if _mode(name) == "lfs":
        entry["lfs"] = {
            "oid": hashlib.sha256(content).hexdigest(),
            "size": len(content),
            "pointerSize": 100,
        }
    return entry


def _sha(files):
    """The name of a commit."""
    parts = [name.encode() + content for name, content in sorted(files.items())]
    return hashlib.sha1(b"".join(parts)).hexdigest()
