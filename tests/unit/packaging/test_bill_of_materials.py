"""A bill of materials is valid CycloneDX, and equal for equal bundles."""

from __future__ import annotations

import json
from dataclasses import replace

from packaging.requirements import Requirement

from hearth.discovery.core_metadata import CoreMetadata
from hearth.packaging.bill_of_materials import bill_of_materials

OWN = CoreMetadata("w/own.whl", "Own_Plugin", "1", "What it does", "MIT", True, (Requirement("lib>=2"),))
LIBRARY = CoreMetadata("w/lib.whl", "lib", "2.1", "", "Public Domain")
HASHES = {OWN.path: "aa", LIBRARY.path: "bb"}


def test_bill_lists_parts_licences_and_dependencies() -> None:
    """The distribution with the plugins is the subject; names in addresses are normalised."""
    bill = json.loads(bill_of_materials(OWN, [OWN, LIBRARY], HASHES))
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert bill["metadata"]["component"] == {
        "type": "application",
        "bom-ref": "pkg:pypi/own-plugin@1",
        "name": "Own_Plugin",
        "version": "1",
        "purl": "pkg:pypi/own-plugin@1",
        "hashes": [{"alg": "SHA-256", "content": "aa"}],
        "description": "What it does",
        "licenses": [{"expression": "MIT"}],
    }
    (library,) = bill["components"]
    assert library["licenses"] == [{"license": {"name": "Public Domain"}}]
    assert {each["ref"]: each["dependsOn"] for each in bill["dependencies"]} == {
        "pkg:pypi/own-plugin@1": ["pkg:pypi/lib@2.1"],
        "pkg:pypi/lib@2.1": [],
    }


def test_equal_parts_give_equal_text() -> None:
    """No time and no number of its own."""
    assert bill_of_materials(OWN, [OWN], HASHES) == bill_of_materials(OWN, [OWN], HASHES)


def test_wheels_of_one_package_for_several_platforms_are_several_parts() -> None:
    """Each with its own hash, distinguished by file name."""
    other = replace(LIBRARY, path="w/lib-arm.whl")
    bill = json.loads(bill_of_materials(OWN, [OWN, LIBRARY, other], {**HASHES, other.path: "cc"}))
    names = ["pkg:pypi/lib@2.1?file_name=lib.whl", "pkg:pypi/lib@2.1?file_name=lib-arm.whl"]
    assert [each["purl"] for each in bill["components"]] == names
    assert [each["hashes"][0]["content"] for each in bill["components"]] == ["bb", "cc"]
    assert bill["dependencies"][0]["dependsOn"] == sorted(names)


def test_parts_of_other_repositories_have_their_own_addresses() -> None:
    """What declares the plugins may be all parts together, without a file and a hash of its own."""
    part = CoreMetadata("lib/a.jar", "org.example:a", "1", purl="pkg:maven/org.example/a@1")
    own = CoreMetadata("", "org.example:all", "2", purl="pkg:maven/org.example/all@2")
    bill = json.loads(bill_of_materials(own, [part], {part.path: "aa"}))
    assert bill["metadata"]["component"]["purl"] == "pkg:maven/org.example/all@2"
    assert "hashes" not in bill["metadata"]["component"]
    assert [each["purl"] for each in bill["components"]] == ["pkg:maven/org.example/a@1"]
