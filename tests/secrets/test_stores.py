"""Stores keep secrets by name, and refuse to be used where others could read or replace them."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from runtrue.redaction import Redactor
from runtrue.secrets import (
    EnvironmentStore,
    FileStore,
    Found,
    KeyringStore,
    Secrets,
    StoreRefused,
    StoreUnavailable,
    problem_of_name,
    remember_kept,
    secret_of,
    secrets_of,
)

VALUE = "swordfish-4711"

#: Stands for the package where it is not installed: as much of it as is used, kept in a file.
KEYRING = """
import json, pathlib
_FILE = pathlib.Path(__file__).with_name("kept.json")

def _kept():
    return json.loads(_FILE.read_text()) if _FILE.exists() else {}

def get_password(service, name):
    return _kept().get(f"{service}/{name}")

def set_password(service, name, value):
    _FILE.write_text(json.dumps({**_kept(), f"{service}/{name}": value}))

def delete_password(service, name):
    kept = _kept()
    del kept[f"{service}/{name}"]
    _FILE.write_text(json.dumps(kept))
"""
LOCKED = "def get_password(service, name): raise RuntimeError('locked: swordfish-4711')\n"


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "own" / "secrets.json")


def install(text: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place.mkdir()
    (place / "keyring.py").write_text(text)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.delitem(sys.modules, "keyring", raising=False)


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeyringStore:
    install(KEYRING, tmp_path / "packages", monkeypatch)
    return KeyringStore()


@pytest.fixture(autouse=True)
def _forget_the_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "keyring", raising=False)


class TestFile:
    def test_what_is_set_can_be_got_listed_and_deleted(self, store: FileStore) -> None:
        assert store.names() == ()
        store.set("B_TOKEN", VALUE)
        store.set("A_TOKEN", 'with "signs"\nand lines, grün')
        assert store.names() == ("A_TOKEN", "B_TOKEN")
        assert store.get("B_TOKEN") == VALUE
        assert store.get("A_TOKEN") == 'with "signs"\nand lines, grün'
        assert store.get("C_TOKEN") is None
        assert store.delete("B_TOKEN")
        assert not store.delete("B_TOKEN")
        assert store.names() == ("A_TOKEN",)

    @pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
    def test_the_file_is_made_for_its_owner_alone_whatever_the_umask(
        self, store: FileStore, umask: int
    ) -> None:
        before = os.umask(umask)
        try:
            store.set("A_TOKEN", VALUE)
        finally:
            os.umask(before)
        assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
        assert [file.name for file in store.path.parent.iterdir()] == ["secrets.json"]

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602, 0o644, 0o610])
    def test_a_file_that_others_can_get_at_is_refused(self, store: FileStore, mode: int) -> None:
        store.set("A_TOKEN", VALUE)
        store.path.chmod(mode)
        with pytest.raises(StoreRefused, match=rf"mode 0{mode:o} lets others access it.*chmod 600"):
            store.get("A_TOKEN")
        with pytest.raises(StoreRefused):
            store.set("B_TOKEN", VALUE)
        with pytest.raises(StoreRefused):
            store.delete("A_TOKEN")

    @pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
    def test_a_file_that_others_can_replace_is_refused(self, store: FileStore, mode: int) -> None:
        store.set("A_TOKEN", VALUE)
        store.path.parent.chmod(mode)
        with pytest.raises(StoreRefused, match=r"others can write to .*; chmod go-w"):
            store.get("A_TOKEN")
        with pytest.raises(StoreRefused, match="others can write to"):
            store.set("A_TOKEN", VALUE)

    def test_no_secret_is_put_where_others_can_write(self, store: FileStore) -> None:
        store.path.parent.mkdir()
        store.path.parent.chmod(0o777)
        with pytest.raises(StoreRefused, match="others can write to"):
            store.set("A_TOKEN", VALUE)
        assert list(store.path.parent.iterdir()) == []

    def test_a_link_is_not_followed(self, store: FileStore, tmp_path: Path) -> None:
        elsewhere = FileStore(tmp_path / "else" / "secrets.json")
        elsewhere.set("A_TOKEN", VALUE)
        store.path.parent.mkdir()
        store.path.symlink_to(elsewhere.path)
        with pytest.raises(StoreRefused, match="are not used"):
            store.get("A_TOKEN")

    def test_a_pipe_is_not_waited_for(self, store: FileStore) -> None:
        store.path.parent.mkdir()
        os.mkfifo(store.path, 0o600)
        with pytest.raises(StoreRefused, match="not an ordinary file"):
            store.get("A_TOKEN")

    def test_a_directory_is_no_file(self, store: FileStore) -> None:
        store.path.mkdir(parents=True)
        with pytest.raises(StoreRefused, match="are not used"):
            store.get("A_TOKEN")

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
    def test_a_file_of_another_user_is_refused(self, store: FileStore) -> None:
        store.set("A_TOKEN", VALUE)
        os.chown(store.path, 12345, 12345)
        with pytest.raises(StoreRefused, match="belongs to another user"):
            store.get("A_TOKEN")

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give directories away")
    def test_a_directory_of_another_user_is_refused(self, store: FileStore) -> None:
        store.set("A_TOKEN", VALUE)
        os.chown(store.path.parent, 12345, 12345)
        with pytest.raises(StoreRefused, match="belongs to another user"):
            store.get("A_TOKEN")

    @pytest.mark.parametrize(
        "text", ["", "[]", '{"A": 1}', f'{{"A_TOKEN": "{VALUE}"', "[" * 100_000, "\udcff"]
    )
    def test_what_cannot_be_understood_is_refused_without_being_quoted(
        self, store: FileStore, text: str
    ) -> None:
        store.set("A_TOKEN", VALUE)
        store.path.write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(StoreRefused, match="not a JSON object") as caught:
            store.get("A_TOKEN")
        assert VALUE not in str(caught.value)

    @pytest.mark.parametrize(
        ("name", "value", "why"),
        [
            ("A TOKEN", VALUE, "named as an environment variable"),
            ("", VALUE, "named as an environment variable"),
            ("A_TOKEN", " \n", "empty"),
            ("A_TOKEN", "swordfish-4711\0", "null character"),
            ("A_TOKEN", "swordfish-4711" * 10_000, "is the limit"),
        ],
    )
    def test_what_no_variable_can_hold_is_not_kept(
        self, store: FileStore, name: str, value: str, why: str
    ) -> None:
        with pytest.raises(StoreRefused, match=why) as caught:
            store.set(name, value)
        assert VALUE not in str(caught.value)
        assert not store.path.exists()

    def test_it_lies_in_the_users_home_never_in_the_project(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project = tmp_path / "project"
        (project / ".runtrue").mkdir(parents=True)
        monkeypatch.chdir(project)
        monkeypatch.delenv("RUNTRUE_HOME", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert FileStore.of_user().path == tmp_path / "home" / ".runtrue" / "secrets.json"
        monkeypatch.setenv("RUNTRUE_HOME", str(tmp_path / "else"))
        assert FileStore.of_user().path == tmp_path / "else" / "secrets.json"
        monkeypatch.setenv("RUNTRUE_HOME", "~/else")
        assert FileStore.of_user().path == tmp_path / "home" / "else" / "secrets.json"
        monkeypatch.setenv("RUNTRUE_HOME", ".runtrue")
        with pytest.raises(StoreUnavailable, match="only read from an absolute path"):
            FileStore.of_user()


class TestKeyring:
    def test_what_is_set_can_be_got_listed_and_deleted(self, keyring: KeyringStore) -> None:
        assert keyring.names() == ()
        keyring.set("B_TOKEN", VALUE)
        keyring.set("A_TOKEN", VALUE)
        assert keyring.names() == ("A_TOKEN", "B_TOKEN")
        assert keyring.get("B_TOKEN") == VALUE
        assert keyring.delete("B_TOKEN")
        assert not keyring.delete("B_TOKEN")
        assert keyring.names() == ("A_TOKEN",)
        assert keyring.get("B_TOKEN") is None

    def test_what_no_variable_can_hold_is_not_kept(self, keyring: KeyringStore) -> None:
        with pytest.raises(StoreRefused, match="null character"):
            keyring.set("A_TOKEN", "a\0b")

    def test_that_the_package_is_missing_is_said_with_how_to_get_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "keyring", None)
        with pytest.raises(StoreUnavailable, match=r"pip install 'runtrue\[secrets\]'"):
            KeyringStore().get("A_TOKEN")

    def test_a_keyring_that_breaks_is_unavailable_and_not_quoted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        install(LOCKED, tmp_path / "packages", monkeypatch)
        with pytest.raises(StoreUnavailable, match=r"cannot be used \(RuntimeError\)") as caught:
            KeyringStore().get("A_TOKEN")
        assert VALUE not in str(caught.value)
        assert caught.value.__cause__ is None

    def test_an_index_that_was_damaged_lists_nothing(
        self, keyring: KeyringStore, tmp_path: Path
    ) -> None:
        kept = tmp_path / "packages" / "kept.json"
        for index in ("not JSON", '{"a": 1}'):
            kept.write_text(json.dumps({"runtrue names/runtrue names": index}))
            assert keyring.names() == ()


class TestEnvironment:
    def test_it_is_read_and_never_written(self) -> None:
        store = EnvironmentStore({"A_TOKEN": VALUE, "HOME": "/"})
        assert store.get("A_TOKEN") == VALUE
        assert store.get("HOME") == "/"
        assert store.get("B_TOKEN") is None
        assert store.names() == ("A_TOKEN",)
        with pytest.raises(StoreRefused, match="export A_TOKEN"):
            store.set("A_TOKEN", "other")
        with pytest.raises(StoreRefused, match="unset A_TOKEN"):
            store.delete("A_TOKEN")


class TestLookup:
    def test_the_first_store_that_has_it_counts(self, store: FileStore) -> None:
        store.set("A_TOKEN", "of the file")
        store.set("B_TOKEN", "of the file, too")
        environment = EnvironmentStore({"A_TOKEN": "of the environment"})
        secrets = Secrets([environment, store])
        assert secrets.get("A_TOKEN") == "of the environment"
        assert secrets.get("B_TOKEN") == "of the file, too"
        assert secrets.get("C_TOKEN") is None
        assert Secrets([store, environment]).get("A_TOKEN") == "of the file"
        assert secrets.found() == (
            Found(name="A_TOKEN", origin="environment"),
            Found(name="A_TOKEN", origin="file"),
            Found(name="B_TOKEN", origin="file"),
        )

    def test_a_store_that_is_not_there_is_passed_over_and_told(
        self, store: FileStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "keyring", None)
        store.set("A_TOKEN", VALUE)
        secrets = Secrets([KeyringStore(), store])
        assert secrets.get("A_TOKEN") == VALUE
        assert secrets.found() == (Found(name="A_TOKEN", origin="file"),)
        assert len(secrets.unavailable) == 1
        assert "keyring is not installed" in secrets.unavailable[0]

    def test_a_store_that_is_unsafe_stops_the_lookup(self, store: FileStore) -> None:
        store.set("A_TOKEN", VALUE)
        store.path.chmod(0o644)
        secrets = Secrets([store, EnvironmentStore({"A_TOKEN": "other"})])
        with pytest.raises(StoreRefused):
            secrets.get("A_TOKEN")

    def test_the_order_is_that_of_the_configuration(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RUNTRUE_HOME", str(tmp_path / "home"))
        monkeypatch.setitem(sys.modules, "keyring", None)
        monkeypatch.setenv("A_TOKEN", "of the environment")
        monkeypatch.chdir(tmp_path)
        FileStore.of_user().set("A_TOKEN", "of the file")
        FileStore.of_user().set("B_TOKEN", "of the file, too")
        assert secret_of("A_TOKEN", os.environ) == "of the environment"
        found = {"A_TOKEN": "of the environment", "B_TOKEN": "of the file, too"}
        assert secrets_of(["A_TOKEN", "B_TOKEN", "C_TOKEN"], os.environ) == found
        (tmp_path / "runtrue.toml").write_text('[secrets]\nstores = ["file", "environment"]\n')
        assert secret_of("A_TOKEN", os.environ) == "of the file"
        (tmp_path / "runtrue.toml").write_text('[secrets]\nstores = ["environment"]\n')
        assert secret_of("B_TOKEN", os.environ) is None

    def test_another_environment_is_all_there_is(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RUNTRUE_HOME", str(tmp_path))
        FileStore.of_user().set("A_TOKEN", VALUE)
        assert secret_of("A_TOKEN", {}) is None
        assert secret_of("A_TOKEN", {"A_TOKEN": "given"}) == "given"


def test_all_that_the_file_holds_can_be_hidden_before_any_of_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTRUE_HOME", str(tmp_path / "home"))
    store = FileStore.of_user()
    store.set("UNUSED_TOKEN", "kept-and-not-used-4711")
    remember_kept()
    assert Redactor()("kept-and-not-used-4711") == "[redacted: UNUSED_TOKEN]"
    store.path.chmod(0o644)
    remember_kept()


@pytest.mark.parametrize("name", ["A", "_A1", "GITHUB_TOKEN", "a_b"])
def test_names_are_those_of_variables(name: str) -> None:
    assert problem_of_name(name) is None


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A B", "A\n", "Ä", "A" * 200, "A=B"])
def test_other_names_are_not(name: str) -> None:
    assert problem_of_name(name)
