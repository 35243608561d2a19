#!/usr/bin/env python3
"""Makes `debian-bookworm.txt.gz`, the frozen graph of Debian packages behind `olivine bench debian`.

    apt-get update
    python3 benches/data/make-debian.py

Reads this machine's own apt package list of the release and keeps what the graph needs: names, versions, sections,
sizes, maintainers, sources, tags, provided names and relations. Descriptions, hashes and file names are dropped.

The counts are taken twice. Once while writing, by the parser below; once by `count_with_awk`, which knows nothing of
that parser and reads the original list, and by `count_what_was_written`, which reads the finished file. If any two
differ, nothing is kept. The script prints what `src/bench/debian/data.rs` pins.

The file is gzip over UTF-8 text, one line a record, fields separated by tabs:

    olivine-debian 1 TAB release
    maintainers N, then N lines: the name; mail addresses are dropped
    sections N, then N lines
    tags N, then N lines
    packages N, then N lines in order of name, then of version:
        name, version, section, priority, installed size in KiB or nothing, maintainer, source (nothing: as the name),
        tags (separated by spaces), provided names (`name` or `name=version`, separated by commas), and one field for
        each kind of KINDS: groups separated by commas, alternatives within a group by `|`, each
        `name[:architecture][ operator version]`
Sections, maintainers and tags are numbers of lines, from 0.
"""

import argparse
import collections
import functools
import glob
import gzip
import hashlib
import os
import re
import subprocess
import sys

KINDS = ["Pre-Depends", "Depends", "Recommends", "Suggests", "Enhances", "Breaks", "Conflicts", "Replaces"]
LISTS = "/var/lib/apt/lists/*_dists_{release}_main_binary-amd64_Packages*"
RELATION = re.compile(
    r"^(?P<name>[a-z0-9][a-z0-9+.-]*)(?::(?P<architecture>[a-z0-9]+))?"
    r"(?:\s*\(\s*(?P<operator><<|<=|=|>=|>>)\s*(?P<version>[^)\s]+)\s*\))?$"
)


def main():
    arguments = argparse.ArgumentParser(description="Freezes the package graph of a Debian release.")
    arguments.add_argument("--release", default="bookworm")
    arguments.add_argument("--output", default=os.path.join(os.path.dirname(__file__), "debian-bookworm.txt.gz"))
    options = arguments.parse_args()

    path = package_list(options.release)
    original = subprocess.run(
        ["/usr/lib/apt/apt-helper", "cat-file", path], check=True, capture_output=True
    ).stdout
    packages = [parse(stanza) for stanza in original.decode("utf-8").split("\n\n") if stanza.strip()]
    packages.sort(key=functools.cmp_to_key(compare))
    text, counts = write(packages, options.release + " main amd64, " + date_of(path))
    data = gzip.compress(text.encode("utf-8"), compresslevel=9, mtime=0)

    agree("the original list, counted by awk", count_with_awk(original), counts)
    agree("the finished file", count_what_was_written(gzip.decompress(data).decode("utf-8")), counts)
    with open(options.output, "wb") as output:
        output.write(data)
    for name, count in sorted(counts.items()):
        print(f"{name:24} {count:>9}")
    print(f"{'bytes':24} {len(data):>9}")
    print(f"{'crc32c':24} {crc32c(data):#010x}")
    print(f"{'sha256':24} {hashlib.sha256(data).hexdigest()}")


def package_list(release):
    found = [path for path in glob.glob(LISTS.format(release=release)) if "security" not in path]
    if len(found) != 1:
        sys.exit(f"expected one package list of {release} main, found {found}; run apt-get update first")
    return found[0]


def date_of(path):
    """The date of the release file that lies beside the list."""
    release = re.sub(r"_main_binary-amd64_Packages.*$", "_InRelease", path)
    with open(release, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("Date: "):
                return line[len("Date: "):].strip()
    sys.exit(f"no date in {release}")


def parse(stanza):
    fields = {}
    last = None
    for line in stanza.split("\n"):
        if line[:1] in (" ", "\t"):
            fields[last] += line
        elif line:
            last, value = line.split(":", 1)
            fields[last] = value.strip()
    return fields


def compare(left, right):
    if left["Package"] != right["Package"]:
        return -1 if left["Package"] < right["Package"] else 1
    older = subprocess.run(["dpkg", "--compare-versions", left["Version"], "lt", right["Version"]], check=False)
    return -1 if older.returncode == 0 else 1


def write(packages, release):
    """The text of the file, and the counts of what went into it."""
    counts = collections.Counter()
    maintainers = Numbers()
    sections = Numbers()
    tags = Numbers()
    lines = []
    sources = set()
    names = {package["Package"] for package in packages}
    for package in packages:
        source = package.get("Source", package["Package"]).split(" ")[0]
        sources.add(source)
        own_tags = [tags.of(tag) for tag in split(package.get("Tag", ""), ",")]
        provides = [provided(name) for name in split(package.get("Provides", ""), ",")]
        counts["tag uses"] += len(own_tags)
        counts["provided names"] += len(provides)
        counts["installed KiB"] += int(package.get("Installed-Size", 0))
        fields = [
            package["Package"],
            package["Version"],
            str(sections.of(package["Section"])),
            package["Priority"],
            package.get("Installed-Size", ""),
            str(maintainers.of(re.sub(r" *<.*$", "", package["Maintainer"]))),
            "" if source == package["Package"] else source,
            " ".join(map(str, own_tags)),
            ",".join(provides),
        ]
        for kind in KINDS:
            groups = [
                [relation(text) for text in split(group, "|")] for group in split(package.get(kind, ""), ",")
            ]
            for group in groups:
                counts["groups"] += 1
                for text, name, versioned in group:
                    counts["relations"] += 1
                    counts["relations, " + kind] += 1
                    counts["relations with a version"] += versioned
                    counts["relations resolved"] += name in names
            fields.append(",".join("|".join(text for text, _, _ in group) for group in groups))
        lines.append("\t".join(fields))
    counts["packages"] = len(packages)
    counts["sources"] = len(sources)
    tables = [("maintainers", maintainers.names), ("sections", sections.names), ("tags", tags.names)]
    for name, entries in tables:
        counts[name] = len(entries)
    text = ["olivine-debian 1\t" + release]
    for name, entries in tables + [("packages", lines)]:
        text.append(f"{name} {len(entries)}")
        text.extend(entries)
    return "\n".join(text) + "\n", counts


class Numbers:
    """Names in order of first use, and their numbers."""

    def __init__(self):
        self.names = []
        self.numbers = {}

    def of(self, name):
        if name not in self.numbers:
            self.numbers[name] = len(self.names)
            self.names.append(name)
        return self.numbers[name]


def split(text, separator):
    return [part.strip() for part in text.split(separator) if part.strip()]


def provided(text):
    match = RELATION.match(text)
    if not match:
        sys.exit(f"cannot read the provided name {text!r}")
    return match["name"] + ("=" + match["version"] if match["version"] else "")


def relation(text):
    match = RELATION.match(text)
    if not match:
        sys.exit(f"cannot read the relation {text!r}")
    short = match["name"] + (":" + match["architecture"] if match["architecture"] else "")
    if match["version"]:
        short += " " + match["operator"] + match["version"]
    return short, match["name"], 1 if match["version"] else 0


AWK = r"""
function flush(   n, m, i, j, groups, alternatives, name) {
    if (field == "Package") { packages++; known[value] = 1 }
    if (field == "Installed-Size") kib += value
    if (field == "Maintainer") sub(/ *<.*$/, "", value)
    if (field == "Maintainer" && !(value in maintainer)) { maintainer[value] = 1; maintainers++ }
    if (field == "Section" && !(value in section)) { section[value] = 1; sections++ }
    if (field == "Tag") {
        n = split(value, groups, /, */)
        tag_uses += n
        for (i = 1; i <= n; i++) if (!(groups[i] in tag)) { tag[groups[i]] = 1; tags++ }
    }
    if (field == "Provides") provided += gsub(/,/, ",", value) + 1
    if (field ~ /^(Pre-Depends|Depends|Recommends|Suggests|Enhances|Breaks|Conflicts|Replaces)$/) {
        n = split(value, groups, ",")
        for (i = 1; i <= n; i++) {
            total_groups++
            m = split(groups[i], alternatives, "|")
            for (j = 1; j <= m; j++) {
                relations++
                kinds[field]++
                if (index(alternatives[j], "(")) versioned++
                name = alternatives[j]
                sub(/^ +/, "", name)
                sub(/[ (:].*$/, "", name)
                uses[name]++
            }
        }
    }
    field = ""
}
/^[A-Za-z]/ { flush(); field = $0; sub(/:.*/, "", field); value = $0; sub(/^[^:]*: */, "", value); next }
/^[ \t]/ { value = value " " $0; gsub(/[ \t]+/, " ", value); next }
{ flush() }
END {
    flush()
    for (name in uses) if (name in known) resolved += uses[name]
    print "packages\t" packages
    print "installed KiB\t" kib
    print "maintainers\t" maintainers
    print "sections\t" sections
    print "tags\t" tags
    print "tag uses\t" tag_uses
    print "provided names\t" provided
    print "groups\t" total_groups
    print "relations\t" relations
    print "relations with a version\t" versioned
    print "relations resolved\t" resolved
    for (kind in kinds) print "relations, " kind "\t" kinds[kind]
}
"""


def count_with_awk(original):
    """The same counts by other means, from the original list; sources are left to the reading of the file."""
    environment = dict(os.environ, LC_ALL="C.UTF-8")
    printed = subprocess.run(["awk", AWK], input=original, check=True, capture_output=True, env=environment).stdout
    rows = (line.split("\t") for line in printed.decode("utf-8").splitlines())
    return {name: int(float(count)) for name, count in rows}


def count_what_was_written(text):
    """The counts again, from the finished file alone."""
    counts = collections.Counter()
    lines = text.split("\n")
    at = 1
    while lines[at]:
        table, count = lines[at].split(" ")
        counts[table] = int(count)
        entries = lines[at + 1 : at + 1 + int(count)]
        at += 1 + int(count)
    sources = set()
    names = {entry.split("\t")[0] for entry in entries}
    for entry in entries:
        fields = entry.split("\t")
        sources.add(fields[6] or fields[0])
        counts["installed KiB"] += int(fields[4] or 0)
        counts["tag uses"] += len(fields[7].split())
        counts["provided names"] += len([name for name in fields[8].split(",") if name])
        for kind, field in zip(KINDS, fields[9:], strict=True):
            if not field:
                continue
            counts["groups"] += field.count(",") + 1
            alternatives = re.split(r"[,|]", field)
            counts["relations"] += len(alternatives)
            counts["relations, " + kind] += len(alternatives)
            counts["relations with a version"] += sum(" " in text for text in alternatives)
            counts["relations resolved"] += sum(re.split(r"[ :]", text)[0] in names for text in alternatives)
    counts["sources"] = len(sources)
    return counts


def agree(who, found, expected):
    for name, count in found.items():
        if expected[name] != count:
            sys.exit(f"{name}: {who} gives {count}, the writer {expected[name]}; nothing was written")


def crc32c(data):
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


if __name__ == "__main__":
    main()
