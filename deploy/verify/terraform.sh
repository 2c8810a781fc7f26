#!/bin/sh
# Lets Terraform, or OpenTofu, check the format of the module and validate it. The
# real provider needs the registry that serves it, so a stub stands in for it that
# has the documented schema and nothing else. Without either program the tests of
# this folder are all that looks at the module.
set -eu
cd "$(dirname "$0")"
terraform=$(command -v terraform || command -v tofu) || {
	echo "neither terraform nor tofu is installed: the module is checked by our own tests only"
	exit 0
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
go build -o "$tmp/terraform-provider-yandex" ./stub
cat > "$tmp/rc" <<RC
provider_installation {
  dev_overrides {
    "yandex-cloud/yandex" = "$tmp"
  }
  direct {}
}
RC
export TF_CLI_CONFIG_FILE="$tmp/rc" TF_DATA_DIR="$tmp/data" STUB_SCHEMA="$PWD/testdata/yandex.json" CHECKPOINT_DISABLE=1
"$terraform" -chdir=../instance-group fmt -check -recursive -diff
"$terraform" -chdir=../instance-group validate -no-color > "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
echo "$terraform validate: the module is valid against the documented schema"
