"""Files that hold secrets are shown to no model, by whatever name or link they are reached."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from runtrue.fixers import Lead, leads_of, own_file, show_files, sources_below
from runtrue.loop import Location
from runtrue.redaction import is_secret_file
from runtrue.secrets import secrets_of_project
from tests.fixers.support import make_finding, make_workplace

PLANTED = "planted-content-4711"


@pytest.mark.parametrize(
    "name",
    [
        *(".env", ".env.local", ".env.production", ".ENV", "config/.env", ".envrc"),
        *("server.pem", "Server.PEM", "tls/private.key", "store.p12", "store.pfx", "app.jks"),
        *("id_rsa", "id_rsa.old", "id_ed25519", "keys/id_ecdsa", ".ssh/config", ".aws/config"),
        *(".npmrc", ".pypirc", ".netrc", "_netrc", ".pgpass", ".git-credentials", ".htpasswd"),
        *("credentials", "credentials.json", ".aws/credentials", "Credentials.csv"),
        *("service-account.json", "service_account-prod.json", "secrets.yml", "secrets.json"),
        *("prod.tfvars", "terraform.tfstate", ".docker/config.json", ".kube/config"),
    ],
)
def test_a_file_that_holds_secrets_by_its_name_is_not_shown(name: str, tmp_path: Path) -> None:
    assert is_secret_file(name)
    workplace = make_workplace(tmp_path)
    file = workplace.root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(PLANTED)
    assert own_file(name, workplace) is None
    assert PLANTED not in show_files([Lead(name)], workplace.root)


@pytest.mark.parametrize(
    "name",
    [
        *(".env.example", ".env.sample", ".env.template", "environment.py", "env.py"),
        *("credentials.py", "test_credentials.py", "src/secrets.py", "keys.py", "id_generator.py"),
        *("package.json", "README.md", "netrc.py", "monkey.ts", "pem.go"),
    ],
)
def test_code_and_examples_are_shown(name: str, tmp_path: Path) -> None:
    assert not is_secret_file(name)
    workplace = make_workplace(tmp_path)
    file = workplace.root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(PLANTED)
    assert own_file(name, workplace) == name
    assert PLANTED in show_files([Lead(name)], workplace.root)


def test_a_link_to_a_secret_in_the_project_is_not_shown(tmp_path: Path) -> None:
    workplace = make_workplace(tmp_path)
    (workplace.root / ".env").write_text(PLANTED)
    (workplace.root / "notes.py").symlink_to(".env")
    assert own_file("notes.py", workplace) is None
    assert "notes.py" not in sources_below(workplace.root)
    assert PLANTED not in show_files([Lead("notes.py")], workplace.root)


@pytest.mark.parametrize("absolute", [True, False])
def test_a_link_that_leads_out_of_the_project_is_not_shown(tmp_path: Path, absolute: bool) -> None:
    workplace = make_workplace(tmp_path)
    outside = workplace.root.parent / "outside.py"
    outside.write_text(PLANTED)
    (workplace.root / "app2.py").symlink_to(outside if absolute else "../outside.py")
    (workplace.root / "pkg").symlink_to(outside.parent, target_is_directory=True)
    assert "app2.py" not in sources_below(workplace.root)
    leads = [Lead("app2.py"), Lead("pkg/outside.py"), Lead("../outside.py"), Lead(str(outside))]
    assert PLANTED not in show_files(leads, workplace.root)


def test_a_link_within_the_project_is_shown(tmp_path: Path) -> None:
    workplace = make_workplace(tmp_path)
    (workplace.root / "real.py").write_text(PLANTED)
    (workplace.root / "alias.py").symlink_to("real.py")
    assert "alias.py" in sources_below(workplace.root)
    assert PLANTED in show_files([Lead("alias.py")], workplace.root)


def test_a_finding_that_points_at_a_secret_leads_nowhere(tmp_path: Path) -> None:
    workplace = make_workplace(tmp_path)
    (workplace.root / ".env").write_text(PLANTED)
    finding = replace(
        make_finding(data={"paths": [".env", "../../etc/passwd"]}),
        location=Location(file=".env", line=1),
    )
    assert [lead.file for lead in leads_of([finding], workplace)] == []


def test_what_is_secret_in_the_env_files_of_a_project_is_known(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "# A_TOKEN=no\nexport A_TOKEN = 'one two' # why\nB_KEY=bare-value # why\n"
        'PORT=8080\nDATABASE_URL="postgres://ann:pass-word@db/x"\nbroken\n=x\nC_KEY="open\n'
    )
    (tmp_path / ".env.local").write_bytes(b"A_TOKEN=other\r\n\xff\xfe\n")
    (tmp_path / ".env.d").mkdir()
    (tmp_path / ".env.gone").symlink_to("nowhere")
    os.mkfifo(tmp_path / ".env.pipe")
    assert secrets_of_project(tmp_path) == (
        {
            "A_TOKEN": "one two",
            "B_KEY": "bare-value",
            "DATABASE_URL": "pass-word",
            "C_KEY": '"open',
        },
        {"A_TOKEN": "other"},
    )
    assert secrets_of_project(tmp_path / "nowhere") == ()
