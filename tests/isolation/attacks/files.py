"""Attacks on files: reading, and changing, what is not the candidate's."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

import runtrue
from runtrue.sandbox.isolation import Level
from runtrue.sandbox.isolation.visible_paths import private_paths
from tests.isolation.arena import Arena
from tests.isolation.attack import CONFINED, Group
from tests.sandbox.support import make_repository

FILES = Group("files", "Files of the machine and of its user")

# -- reading --------------------------------------------------------------------------------------

FILES.code(
    "reading the user's private key",
    """
    attempt("key", read, "<home>/.ssh/id_rsa")
    attempt("key by the variable", read, os.environ["HOME"] + "/.ssh/id_rsa")
    """,
    promised=CONFINED,
    says="<home>/.ssh/id_rsa",
)
FILES.code(
    "reading credentials of services, and the shell's history",
    """
    for name in (".aws/credentials", ".netrc", ".git-credentials", ".bash_history"):
        attempt(name, read, "<home>/" + name)
    """,
    promised=CONFINED,
    says="<home>/.aws/credentials",
)
FILES.code(
    "looking around in the user's home",
    """
    def look():
        found = {name for name in os.listdir("<home>") if name not in (".local", ".gitconfig")}
        return must(found, "nothing is there")
    attempt("looking around", look)
    """,
    promised=CONFINED,
    says="looking around: ",
)
FILES.code(
    "reading the user's own tree of the project, and another project",
    """
    attempt("project", read, "<project>/app.py")
    attempt("other", read, "<home>/other/notes.txt")
    """,
    promised=CONFINED,
    says="<project>/app.py",
)
FILES.code(
    "reading the journal of all runs",
    'attempt("journal", read, "<home>/.runtrue/journal.db")',
    promised=CONFINED,
    says="<home>/.runtrue/journal.db",
)
FILES.code(
    "reading the passwords of the system",
    """
    for name in ("shadow", "gshadow", "sudoers"):
        attempt(name, lambda: must(read("/etc/" + name), "it is empty"))
    """,
    promised=CONFINED,
    says="shadow: ",
)


@FILES("reading what only root may read of the system's settings", CONFINED)
def settings_of_root(arena: Arena) -> None:
    closed = [
        str(path)
        for path in Path("/etc").rglob("*")
        if not path.is_symlink() and path.is_file() and not path.stat().st_mode & 0o004
    ]
    arena.attack(f"""
        for path in {closed!r}:
            attempt(path, lambda: must(read(path), "it is empty"))
        sys.stderr.write("looked\\n")
    """).says("looked")


@FILES("writing to a pipe of the user's among the system's programs", CONFINED)
def pipe_among_programs(arena: Arena) -> None:
    directory = Path(tempfile.mkdtemp(dir="/opt")) if os.access("/opt", os.W_OK) else None
    if directory is None:
        return
    directory.chmod(0o755)
    pipe = directory / "pipe"
    os.mkfifo(pipe)
    pipe.chmod(0o666)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        private_paths.cache_clear()
        arena.attack(
            f"""
            def tell(): os.write(os.open("{pipe}", os.O_WRONLY | os.O_NONBLOCK), b"attacked")
            effort("pipe", tell)
            attempt("pipe", lambda: must(os.stat("{pipe}").st_mode & 0o10000))
        """,
            reaches=arena.level is Level.LANDLOCK,
        )
        assert os.read(reader, 100) == b""
    finally:
        os.close(reader)
        shutil.rmtree(directory)
        private_paths.cache_clear()


FILES.code(
    "leaving the sandbox upwards by /proc/self/cwd and /proc/self/root",
    """
    for way in ("/proc/self/cwd/../home", "/proc/self/root<home>", "/proc/thread-self/cwd/../home"):
        attempt(way, read, way + "/.ssh/id_rsa")
    """,
    promised=CONFINED,
    says="/proc/self/cwd/../home",
)
FILES.code(
    "entering the file system of the first process",
    'attempt("/proc/1/root", read, "/proc/1/root<home>/.ssh/id_rsa")',
    promised=CONFINED,
    says="/proc/1/root<home>/.ssh/id_rsa",
)


@FILES("entering the file system, or the open files, of the user's processes", CONFINED)
def entering_processes(arena: Arena) -> None:
    with arena.bystander() as pid, (arena.home / ".ssh/id_rsa").open() as held:
        code = f"""
            for pid in ({pid}, {os.getpid()}, *filter(str.isdigit, os.listdir("/proc"))):
                key = "<home>/.ssh/id_rsa"
                for way in ("root" + key, "cwd" + key, "fd/{held.fileno()}"):
                    attempt("enter", lambda: must(b"PRIVATE" in read(f"/proc/{{pid}}/{{way}}")))
        """
        arena.attack(code).says(f"/proc/{pid}/root{arena.home}")


FILES.code(
    "finding files by their handles rather than their names",
    """
    import ctypes, struct
    directory = os.open(".", os.O_RDONLY)
    for inode in (2, 128, 256):
        handle = struct.pack("=Ii", 8, 1) + struct.pack("=II", inode, 0)
        attempt(f"open_by_handle_at {inode}", call, 304, directory, handle, os.O_RDONLY)
    """,
    promised=CONFINED,
    says="open_by_handle_at 2: PermissionError",
)


@FILES("reading what others have in shared memory", CONFINED)
def others_shared_memory(arena: Arena) -> None:
    file = Path("/dev/shm", f"attack-{secrets.token_hex(8)}")  # noqa: S108
    file.write_text(arena.secret)
    try:
        arena.attack(f"""
            attempt("shared memory", read, "{file}")
            attempt("shared memory", lambda: must(os.remove("{file}") is None))
        """).says(str(file))
        assert file.read_text() == arena.secret
    finally:
        file.unlink()


@FILES("using descriptors that whoever started it left open")
def inherited_descriptors(arena: Arena) -> None:
    directory = os.open(arena.home, os.O_RDONLY)
    try:
        os.set_inheritable(directory, True)
        arena.attack("""
            for name in os.listdir("/proc/self/fd"):
                if int(name) > 2:
                    attempt(f"descriptor {name}", os.readlink, f"/proc/self/fd/{name}")
        """)
    finally:
        os.close(directory)


# -- changing -------------------------------------------------------------------------------------

FILES.code(
    "adding lines to the files that the user's shell reads",
    """
    for name in (".bashrc", ".profile", ".zshenv"):
        effort(name, write, "<home>/" + name)
    """,
    promised=CONFINED,
    says=".bashrc: ",
)
FILES.code(
    "adding a key that lets somebody log in",
    """
    effort("making a directory", os.makedirs, "<home>/.ssh", 0o700, True)
    effort("authorized_keys", write, "<home>/.ssh/authorized_keys")
    """,
    promised=CONFINED,
    says="authorized_keys: ",
)
FILES.code(
    "having a program of its own started later: timers, services, autostart",
    """
    for name in (".config/systemd/user/mine.service", ".config/autostart/x.desktop"):
        effort(name, write, "<home>/" + name)
    for name in ("/etc/cron.d", "/etc/cron.daily", "/var/spool/cron", "/etc/systemd/system"):
        attempt(name, add_to, name)
    """,
    promised=CONFINED,
    says="/etc/cron.d: ",
)
FILES.code(
    "removing the user's files",
    """
    import shutil
    for name in ("<project>/app.py", "<home>/.ssh/id_rsa"):
        attempt("removing", os.remove, name)
    effort("removing all", shutil.rmtree, "<home>/other")
    effort("removing all", shutil.rmtree, "<project>")
    """,
    promised=CONFINED,
    says="<project>/app.py",
)
FILES.code(
    "emptying, overwriting and renaming the user's files",
    """
    attempt("truncate", os.truncate, "<project>/app.py", 0)
    attempt("open with O_TRUNC", opened, "<project>/app.py", os.O_WRONLY | os.O_TRUNC)
    attempt("rename", os.rename, "<project>/app.py", "taken.py")
    write("mine.py", "w")
    effort("replace", os.replace, "mine.py", "<project>/app.py")
    """,
    promised=CONFINED,
    says="truncate: ",
)
FILES.code(
    "changing modes, owners, times and attributes of the user's files",
    """
    attempt("chmod", os.chmod, "<home>/.ssh/id_rsa", 0o666)
    attempt("chown", os.chown, "<home>/.ssh/id_rsa", 12345, 12345)
    attempt("utime", os.utime, "<project>/app.py", (0, 0))
    attempt("setxattr", os.setxattr, "<project>/app.py", "user.attacked", b"x")
    """,
    promised=CONFINED,
    says="chmod: ",
)
FILES.code(
    "writing through a symbolic link that it makes",
    """
    os.symlink("<project>/app.py", "link.py")
    os.symlink("<home>", "house")
    effort("link to a file", write, "link.py")
    effort("link to a directory", write, "house/.bashrc")
    effort("link to a directory", write, "house/project/app.py")
    """,
    promised=CONFINED,
    says="link to a file: ",
)


@FILES("writing through a symbolic link that the candidate came with", CONFINED)
def planted_link(arena: Arena) -> None:
    (arena.sandbox / "data").symlink_to(arena.project, target_is_directory=True)
    outcome = arena.attack("""
        attempt("reading", read, "data/app.py")
        effort("writing", write, "data/app.py")
        effort("adding", write, "data/new.py")
    """)
    outcome.says("data/app.py")


FILES.code(
    "writing through a hard link to the user's file",
    """
    attempt("link", os.link, "<project>/app.py", "mine.py")
    attempt("link by /proc", os.link, "/proc/self/root<project>/app.py", "mine2.py")
    effort("writing", write, "mine.py")
    """,
    promised=CONFINED,
    says="<project>/app.py",
)
FILES.code(
    "putting a link to the user's home in the place of the sandbox",
    """
    attempt("moving the sandbox", os.rename, "<sandbox>", "<sandbox>.old")
    effort("a link in its place", os.symlink, "<home>", "<sandbox>")
    """,
    promised=CONFINED,
    says="<sandbox>.old",
)
FILES.code(
    "installing hooks in the user's repository",
    """
    for name in ("post-commit", "pre-push"):
        effort(name, write, "<project>/.git/hooks/" + name, "w")
    """,
    promised=CONFINED,
    says="post-commit: ",
)
FILES.code(
    "changing the interpreter and its library",
    """
    for place in (os.path.dirname(os.__file__), os.path.dirname(sys.executable), sys.prefix):
        attempt(place, add_to, place)
    attempt("os.py", overwrite, os.__file__)
    """,
    promised=CONFINED,
    says="os.py: ",
)


@FILES("changing the program that judges", CONFINED)
def changing_runtrue(arena: Arena) -> None:
    package = Path(runtrue.__file__).parent
    outcome = arena.attack(f"""
        attempt("adding", add_to, "{package}")
        attempt("process.py", overwrite, "{package / "process.py"}")
        attempt("packages", add_to, "{Path(sys.prefix, "lib")}")
    """)
    outcome.says("process.py: ")


FILES.code(
    "changing programs and libraries that the user runs later",
    """
    for place in ("/usr/local/bin", "/usr/bin", "/usr/lib", "/etc", "/etc/profile.d"):
        attempt(place, add_to, place)
    attempt("ld.so.conf", overwrite, "/etc/ld.so.conf")
    attempt("tool", overwrite, "<home>/.local/bin/mine")
    effort("new tool", write, "<home>/.local/bin/new")
    """,
    promised=CONFINED,
    says="ld.so.conf: ",
)


@FILES("changing what a virtual environment of the project's links to", CONFINED)
def linked_environment(arena: Arena) -> None:
    project = make_repository(arena.root / "app", {"app.py": "x = 1\n", ".gitignore": ".venv\n"})
    library = project / ".venv" / "lib"
    library.mkdir(parents=True)
    (library / "tool.py").write_text("safe = True\n")
    attack = "for f in .venv/lib/tool.py .venv/lib/new.py; do echo attacked >>$f; done; exit 1"
    sandbox = arena.git_sandbox(project)
    arena.judge(f"sh -c '{attack}'", sandbox.workplace())
    assert [file.name for file in library.iterdir()] == ["tool.py"]
    assert (library / "tool.py").read_text() == "safe = True\n"


# -- the kernel -----------------------------------------------------------------------------------

FILES.code(
    "mounting the machine's directories elsewhere, or anew",
    """
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    os.mkdir("here")
    def mount(source, target, kind, flags):
        if libc.mount(source, target, kind, ctypes.c_ulong(flags), None):
            raise OSError(ctypes.get_errno(), "mount")
    attempt("bind", mount, b"/", b"here", None, 0x1000)
    attempt("read-write", mount, None, b"/usr", None, 0x20 | 0x1000)
    attempt("tmpfs", mount, b"tmpfs", b"here", b"tmpfs", 0)
    attempt("proc", mount, b"proc", b"here", b"proc", 0)
    attempt("umount", lambda: must(libc.umount2(b"<home>", 2) == 0))
    attempt("open_tree", call, 428, -100, b"/", 1)
    attempt("fsopen", call, 430, b"tmpfs", 0)
    """,
    promised=CONFINED,
    says="bind: ",
)
FILES.code(
    "leaving by a root directory of its own",
    """
    os.mkdir("cell")
    attempt("chroot", os.chroot, "cell")
    attempt("pivot_root", call, 155, b".", b"cell")
    """,
    promised=CONFINED,
    says="chroot: ",
)
FILES.code(
    "getting capabilities in namespaces of its own",
    """
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    for name, flag in {"user": 0x10000000, "mount": 0x20000, "net": 0x40000000}.items():
        attempt(name, lambda: must(libc.unshare(flag) == 0, "refused"))
        attempt(name + " by clone", lambda: must(call(56, flag | 17, 0, 0, 0, 0) >= 0))
    attempt("clone3", call, 435, bytes(88), 88)
    for pid in ("1", "self", "thread-self"):
        attempt("setns", lambda: call(308, os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY), 0))
    """,
    promised=CONFINED,
    says="user: ",
)
FILES.code(
    "making devices, and using those of the machine",
    """
    import stat
    for name, number in {"vda": (254, 0), "sda": (8, 0), "mem": (1, 1), "kmsg": (1, 11)}.items():
        for kind in (stat.S_IFBLK, stat.S_IFCHR):
            attempt("mknod", os.mknod, f"{name}-{kind}", kind | 0o600, os.makedev(*number))
        attempt(name, read, "/dev/" + name)
    """,
    promised=CONFINED,
    says="mknod: ",
)
FILES.code(
    "writing the kernel's settings",
    """
    for name in ("kernel/core_pattern", "kernel/modprobe", "vm/drop_caches", "fs/suid_dumpable"):
        attempt(name, overwrite, "/proc/sys/" + name)
    attempt("sysrq", overwrite, "/proc/sysrq-trigger")
    for name in ("/sys/power/state", "/sys/kernel/mm/transparent_hugepage/enabled",
                 "/sys/kernel/uevent_helper", "/sys/module/kernel/parameters/panic"):
        attempt(name, overwrite, name)
    """,
    promised=CONFINED,
    says="kernel/core_pattern: ",
)
FILES.code(
    "gaining rights by a setuid program",
    """
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    attempt("NoNewPrivs", lambda: must(status["NoNewPrivs"].strip() == "0", "they are refused"))
    """,
    says="NoNewPrivs: ",
)
FILES.code(
    "using rights that root has",
    """
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        attempt(name, lambda: must(int(status[name], 16), "there are none"))
    attempt("reboot", call, 169, 0, 0, 0, 0)
    attempt("module", call, 175, bytes(8), 8, b"")
    attempt("hostname", lambda: call(170, b"attacked", -1))
    """,
    says="CapEff: ",
)
FILES.code(
    "calling the kernel by ways that a filter may not see",
    """
    attempt("io_uring", call, 425, 8, bytes(120))
    attempt("x32 getpid", call, 0x40000000 | 39)
    attempt("bpf", call, 321, 0, bytes(72), 72)
    attempt("userfaultfd", call, 323, 0)
    attempt("perf_event_open", call, 298, bytes(112), 0, -1, -1, 0)
    attempt("keyctl", call, 250, 0, -3, 0)
    """,
    promised=CONFINED,
    says="io_uring: ",
)
FILES.code(
    "typing into the user's terminal",
    """
    import fcntl
    attempt("/dev/tty", opened, "/dev/tty", os.O_RDWR)
    for number in (0, 1, 2):
        attempt("TIOCSTI", fcntl.ioctl, number, 0x5412, b"x")
    """,
    says="/dev/tty",
)


@FILES("reading and changing the user's files from a project that is repaired", CONFINED)
def attacking_a_repair(arena: Arena) -> None:
    finding = arena.fix("""
        attempt("key", read, "<home>/.ssh/id_rsa")
        attempt("tree", read, "<root>/attacked/runtrue.toml")
        attempt("journal", read, "<root>/runtrue/journal.db")
        effort("shell", write, "<home>/.bashrc")
        effort("hook", write, "<root>/attacked/.git/hooks/post-commit")
    """)
    assert f"{arena.home}/.ssh/id_rsa" in finding["sample"]
    assert not (arena.root / "attacked/.git/hooks/post-commit").exists()
