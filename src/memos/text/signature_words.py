"""Words that `memos.text.signature` knows: file extensions, words that are no names, programs with commands of their own."""

from __future__ import annotations

_EXTENSIONS = """
h hpp hh c cc cpp cxx o a so dylib dll lib exe py pyc pyi pyx js mjs cjs ts tsx jsx json jsonl yaml yml toml ini cfg
conf config xml html css md rst txt log csv tsv sql db sqlite lock sock pid service timer socket target mount sh bash
zsh ps1 bat rb go rs java class jar war kt swift php pl lua r ipynb whl gz zip tar tgz bz2 xz zst deb rpm apk img iso
pem crt key cert env tf proto pc cmake mk png jpg jpeg gif svg pdf doc docx xls xlsx ppt pptx bin dat tmp bak patch
diff
"""
_PLAIN = """
a an and any are as at be been before but by can cannot case could did do does doing done due either error errors
exist exists expected failed fails failure for found from get given got had has have here in inside install installed
into invalid is it its itself known like line load loaded locate made make match may missing more must name named
names neither no none not nothing of off on one only open or other out own permission permissions process read refused
required resolve run running same see set should so some space start started state still stop stopped such supported
syntax system than that the their them then there these this those time timeout to too try type under unknown
unsupported until up use used using valid value values version was were what when where which while will with within
without would write written yet you your access address already argument arguments available code command commands
connect connection contains data denied directory exit expression file files format function host input local memory
method module network object operation option options package packages parameter path port request requests response
returned service services socket source status string target text token unit user variable zero null true false
undefined
"""
_FAMILIES = """
apt apt-get apt-cache yum dnf apk pacman brew snap pip pip3 uv conda poetry npm yarn pnpm npx cargo go gem bundle
composer git docker podman docker-compose kubectl helm systemctl service journalctl terraform aws gcloud az gh make
python python3 node ufw nginx psql redis-cli rabbitmqctl supervisorctl launchctl choco winget dotnet mvn gradle pkg
svn hg
"""

EXTENSIONS = frozenset(_EXTENSIONS.split())
PLAIN = frozenset(_PLAIN.split())
FAMILIES = frozenset(_FAMILIES.split())
