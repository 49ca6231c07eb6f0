#!/usr/bin/env python3
"""Fails when a dependency's licence is not one that deny.toml allows. Standard library only."""
import json
import re
import subprocess
import sys
import tomllib

allowed = set(tomllib.load(open("deny.toml", "rb"))["licenses"]["allow"])
metadata = json.loads(subprocess.run(["cargo", "metadata", "--format-version", "1"], capture_output=True, check=True).stdout)


def is_allowed(expression):
    """Reads an SPDX expression of AND and OR, parentheses and WITH included."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))
    python = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token in "()":
            python.append(token)
        elif token in ("AND", "OR"):
            python.append(token.lower())
        else:
            name = token
            if at + 2 < len(tokens) and tokens[at + 1] == "WITH":
                name = f"{token} WITH {tokens[at + 2]}"
                at += 2
            python.append(str(name in allowed))
        at += 1
    return eval(" ".join(python))  # only parentheses, and, or, True and False are left


refused = [
    f"{package['name']} {package['version']}: {package['license']}"
    for package in metadata["packages"]
    if package["source"] and not is_allowed(package["license"] or "NONE")
]
if refused:
    sys.exit("licences that deny.toml does not allow:\n" + "\n".join(refused))
print(f"licences: {len(metadata['packages'])} packages, all allowed")
