# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parser of configuration files, with oslo.config as its oracle."""

from __future__ import annotations

import logging
import os
import pathlib
import tempfile

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oslo_config import cfg

from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import nova_conf
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

# The oracle tells of each deprecated name that a test uses.
logging.getLogger("oslo_config").setLevel(logging.ERROR)

#: Option to default, as registered with the oracle and told to ours.
DEFAULTS = {
    "host": "kernel",
    "state_path": "/var/lib/nova",
    "my_ip": "192.0.2.7",
    "instances_path": "$state_path/instances",
    "compute_driver": None,
    "other": None,
}
LIBVIRT = ("images_type", "images_rbd_pool", "rbd_user", "live_migration_inbound_addr")
LOGGING = (("log-file", "logfile"), ("log-dir", "logdir"))


def oracle(arguments):
    conf = cfg.ConfigOpts()
    conf.register_cli_opts([cfg.StrOpt(name, deprecated_name=old) for name, old in LOGGING])
    conf.register_opts([cfg.StrOpt(name, default=default) for name, default in DEFAULTS.items()])
    conf.register_opts([cfg.StrOpt(name) for name in LIBVIRT], group="libvirt")
    conf(arguments, project="nova", prog="nova-compute", default_config_files=[], default_config_dirs=[])
    return conf


def ours(arguments, environment=None):
    parsed = nova_conf.parse_arguments(arguments)
    defaults = {("DEFAULT", name): value for name, value in DEFAULTS.items()}
    defaults.update({("libvirt", name): None for name in LIBVIRT})
    return nova_conf.Config.load(parsed, environment, defaults)


def outcome(get):
    """The value, or that there is none to be had."""
    try:
        return get()
    except (cfg.Error, nova_conf.ConfError, RecursionError, ValueError):
        return "(refused)"


def compare(arguments, environment=None):
    loaded = outcome(lambda: ours(arguments, environment))
    expected = outcome(lambda: oracle(arguments))
    if expected == "(refused)":
        # oslo.config refuses a bad option of the command line at once, ours when it is asked for.
        asked = (
            []
            if loaded == "(refused)"
            else [outcome(lambda o=o: loaded.get("DEFAULT", o)) for o in ("log_file", "log_dir")]
        )
        assert not asked or "(refused)" in asked
        return
    assert loaded != "(refused)"
    for name in [*DEFAULTS, "log_file", "log_dir"]:
        theirs = outcome(lambda name=name: expected[name])
        assert outcome(lambda name=name: loaded.get("DEFAULT", name)) == theirs, name
    for name in LIBVIRT:
        theirs = outcome(lambda name=name: expected.libvirt[name])
        assert outcome(lambda name=name: loaded.get("libvirt", name)) == theirs, name


KEYS = [*DEFAULTS, *LIBVIRT, "log_file", "logfile", "log_dir", "log-file", "Host", "HOST", "password"]
SNIPPETS = [
    "", "compute1", "a b", "$state_path/x", "${my_ip}", "$my_ip.5", "$$", "\\$", "$nope", "$libvirt.rbd_user", "$",
    "${", '"quoted"', "'quoted'", '"', "''", "'\"", "x=y", "a:b", "# no comment", "; neither", "\t", " ", "é",
    "\x0b", "$HOST", "$other", "${host}-$state_path", "$LIBVIRT.images_type", "$nope.rbd_user", "[x]", "\\",
]  # fmt: skip
VALUES = st.lists(st.sampled_from(SNIPPETS), max_size=3).map("".join)
LINES = st.one_of(
    st.builds("{}{}{}{}".format, st.sampled_from(KEYS), st.sampled_from([" = ", "=", ":", " : ", "= "]), VALUES,
              st.sampled_from(["", " ", "\t"])),
    st.sampled_from(["[DEFAULT]", "[libvirt]", "[LibVirt]", "[default]", "[other]", "[libvirt] ", "[a b]"]),
    st.sampled_from(["", "  ", "# host = no", "; host = no", "#", "\t"]),
    VALUES.map("    {}".format),
)  # fmt: skip
BROKEN = st.sampled_from(["[libvirt", "[]", "= value", "nothing", "  lost", "[x] # comment", ": x", " # host = no"])
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n"])


@st.composite
def texts(draw):
    lines = draw(st.lists(LINES, max_size=12))
    if draw(st.booleans()):
        lines.insert(0, "[DEFAULT]")
    if draw(st.integers(0, 9)) == 0:
        lines.insert(draw(st.integers(0, len(lines))), draw(BROKEN))
    return "".join(line + draw(ENDS) for line in lines)


@settings(max_examples=400)
@given(contents=st.lists(texts(), min_size=1, max_size=3), late=st.booleans())
@example(contents=["[DEFAULT]\nstate_path = $state_path/x\n"], late=False)
@example(contents=["host = lost\n"], late=False)
@example(contents=["[DEFAULT]\nhost =\n  folded\n  value\nmy_ip = 1\n"], late=False)
@example(contents=["[DEFAULT]\nlogfile = a\n", "[DEFAULT]\nlog_dir = $state_path\n"], late=True)
def test_files_in_order_are_read_as_oslo_config_reads_them(contents, late):
    with tempfile.TemporaryDirectory() as folder:
        arguments = []
        for number, content in enumerate(contents):
            path = pathlib.Path(folder, f"{number}.conf")
            path.write_bytes(content.encode())
            arguments += ["--config-file", str(path)] if number % 2 else [f"--config-file={path}"]
        option = ["--log-file", "from-the-command-line"]
        compare(arguments + option if late else option + arguments)


@settings(max_examples=60)
@given(
    contents=st.dictionaries(st.sampled_from(["b.conf", "a.conf", "10.conf", "z.txt", "c.CONF"]), texts(), max_size=4)
)
def test_directories_are_read_as_oslo_config_reads_them(contents):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in contents.items():
            pathlib.Path(folder, name).write_bytes(content.encode())
        first = pathlib.Path(folder, "first")
        first.write_text("[DEFAULT]\nhost = first\n[libvirt]\nimages_type = raw\n")
        compare(["--config-file", str(first), "--config-dir", folder])
        compare(["--config-dir", folder, "--config-file", str(first)])


@settings(max_examples=60)
@given(content=texts(), value=st.sampled_from(["from-the-environment", "", "$my_ip", "$$x"]))
def test_the_environment_goes_before_files(content, value):
    name = "OS_DEFAULT__HOST"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "nova.conf")
        path.write_bytes(content.encode())
        os.environ[name] = value
        try:
            compare(["--config-file", str(path)], {name: value})
        finally:
            del os.environ[name]


@pytest.mark.parametrize("missing", ["--config-file", "--config-dir"])
def test_what_is_not_there_is_refused(tmp_path, missing):
    with pytest.raises(nova_conf.ConfError, match=r"nowhere"):
        ours([missing, str(tmp_path / "nowhere")])


def test_an_error_never_shows_a_line(tmp_path):
    path = tmp_path / "nova.conf"
    for content in (
        "[DEFAULT]\nsecret-word",
        "[secret-word",
        "secret-word = 1",
        "[DEFAULT]\n  secret-word",
        "[D]\n=secret-word",
    ):
        path.write_text(content)
        with pytest.raises(nova_conf.ConfError) as caught:
            ours(["--config-file", str(path)])
        assert "secret-word" not in str(caught.value)
        assert f"{path} line " in str(caught.value)


def test_what_is_not_utf8_is_refused_by_its_place(tmp_path):
    path = tmp_path / "nova.conf"
    path.write_bytes(b"[DEFAULT]\npassword = \xff\n")
    with pytest.raises(nova_conf.ConfError, match=r"UTF-8", check=problem_is("not-utf-8")):
        ours(["--config-file", str(path)])


def test_each_line_that_sets_an_option_is_told_as_it_stands(tmp_path):
    first, second = tmp_path / "a.conf", tmp_path / "b.conf"
    first.write_text("[DEFAULT]\n# host = no\nhost: 'one'  \n[default]\nhost = no\n[libvirt]\nhost = no\n")
    second.write_text("[DEFAULT]\n\nhost=two\nhost =three\n")
    config = ours(["--config-file", str(first), "--config-file", str(second)])
    lines = [(pathlib.Path(line.path).name, line.number, line.text) for line in config.lines("DEFAULT", "host")]
    assert lines == [("a.conf", 3, "host: 'one'  "), ("b.conf", 3, "host=two"), ("b.conf", 4, "host =three")]
    assert config.get("DEFAULT", "host") == "three"


@pytest.mark.parametrize(
    ("settings_text", "path"),
    [
        ("", None),
        ("log_file = n.log", "/n.log"),
        ("log_dir = /var/log/nova", "/var/log/nova/nova-compute.log"),
        ("log_dir = /var/log/nova\nlog_file = n.log", "/var/log/nova/n.log"),
        ("logdir = /var/log/nova\nlogfile = /elsewhere/n.log", "/elsewhere/n.log"),
        ("log_dir =", None),
    ],
)
def test_log_file(settings_text, path):
    config = nova_conf.Config()
    config.add_text(f"[DEFAULT]\n{settings_text}\n", "nova.conf")
    assert nova_conf.log_file(config, "nova-compute") == path


@pytest.mark.parametrize(("text", "number"), [("12", 12), (" 12 ", 12), ("-1", -1), ("", None), ("x", "(refused)")])
def test_integers(text, number):
    config = nova_conf.Config()
    config.add_text(f"[DEFAULT]\nreserved = {text}\n", "nova.conf")
    assert outcome(lambda: nova_conf.integer(config, "DEFAULT", "reserved")) == number
    assert nova_conf.integer(config, "DEFAULT", "unset") is None


@pytest.mark.parametrize(
    ("made", "files"),
    [
        (["etc/nova/nova.conf"], ["etc/nova/nova.conf"]),
        (["etc/nova.conf", "etc/nova/nova-compute.conf"], ["etc/nova.conf", "etc/nova/nova-compute.conf"]),
        (["home/.nova/nova.conf", "etc/nova/nova.conf"], ["home/.nova/nova.conf"]),
        (
            ["usr/share/nova/nova-dist.conf", "etc/nova/nova.conf"],
            ["usr/share/nova/nova-dist.conf", "etc/nova/nova.conf"],
        ),
        (["etc/nova/nova.conf.d/a.conf"], ["etc/nova/nova.conf.d"]),
        ([], []),
    ],
)
def test_files_by_default(tmp_path, made, files):
    for name in made:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = nova_conf.default_arguments("nova", "nova-compute", str(tmp_path / "home"), str(tmp_path))
    assert [path for _kind, path in found.entries] == [str(tmp_path / name) for name in files]


def test_named_files_replace_the_default_ones_but_not_the_default_directories():
    default = nova_conf.Arguments((("file", "/etc/nova/nova.conf"), ("dir", "/etc/nova/nova.conf.d")))
    given_file = nova_conf.parse_arguments(
        ["python3", "nova-compute", "--config-file", "/n", "--log-file=/l", "--debug"]
    )
    merged = nova_conf.with_defaults(given_file, default)
    assert merged.entries == (("dir", "/etc/nova/nova.conf.d"), ("file", "/n"), ("log_file", "/l"))
    merged = nova_conf.with_defaults(nova_conf.parse_arguments(["nova-compute", "--config-dir=/d"]), default)
    assert merged.entries == (("file", "/etc/nova/nova.conf"), ("dir", "/d"))


# --- options by an older name, and options that are set several times ------------------------------------------


@pytest.mark.parametrize("multiple", [False, True])
@pytest.mark.parametrize(
    "texts",
    [
        ("",),
        ("[pci]\nnew = a\nnew = b\n",),
        ("[pci]\nold = a\n[DEFAULT]\nolder = b\n",),
        ("[pci]\nnew = a\nold = b\n", "[DEFAULT]\nolder = c\nolder = $state_path\n"),
        ("[pci]\nnew = a\n", "[pci]\nold = b\nnew = c\n"),
        ("[pci]\nnew =\n", "[DEFAULT]\nstate_path = /x\n"),
    ],
)
def test_values_of_an_option_are_those_of_the_oracle(tmp_path, texts, multiple):
    arguments = []
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.conf"
        path.write_text(text)
        arguments.append(f"--config-file={path}")
    conf = cfg.ConfigOpts()
    older = [cfg.DeprecatedOpt("old", group="pci"), cfg.DeprecatedOpt("older", group="DEFAULT")]
    conf.register_opts([cfg.StrOpt("state_path", default="/var/lib/nova")])
    conf.register_opts([(cfg.MultiStrOpt if multiple else cfg.StrOpt)("new", deprecated_opts=older)], group="pci")
    conf(arguments, project="nova", prog="nova-compute", default_config_files=[], default_config_dirs=[])
    expected = conf.pci.new if multiple else [conf.pci.new]
    names = [("pci", "new"), ("pci", "old"), ("DEFAULT", "older")]
    assert ours(arguments).values(names, multiple) == [value for value in expected or [] if value is not None]
