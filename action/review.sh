#!/usr/bin/env bash
# Validates and reviews a pull request in GitHub Actions. The action's inputs are in
# variables INPUT_*; see action.yml. The reports are in a new directory, whose path begins
# with $OUT.
#
# The output of pequod has names and values of strangers. The runner would execute
# lines in it that look like workflow commands, so commands are switched off for
# everything but the annotations, which pequod escapes itself.
set -euo pipefail

# Each use of the action in a job keeps its reports.
OUT=$(mktemp -d "$OUT.XXXXXX")
echo "reports=$OUT" >>"$GITHUB_OUTPUT"
quiet=pequod-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

# Values are lines, because paths may have blanks. The odd form of "${args[@]}" is for
# the bash of macOS, which takes an empty list for an unset variable.
args=()
while IFS= read -r line; do
	[[ -z $line ]] || args+=(-f "$line")
done <<<"$INPUT_FILES"
while IFS= read -r line; do
	[[ -z $line ]] || args+=(-p "$line")
done <<<"$INPUT_PLATFORMS"
while IFS= read -r line; do
	[[ -z $line ]] || args+=(--policy "$line")
done <<<"$INPUT_POLICIES"

code=0
if [[ $INPUT_VALIDATE == true ]]; then
	pequod validate ${args[@]+"${args[@]}"} -o github || code=$?
fi
checked=0
if [[ -n $INPUT_CRDS ]]; then
	if ! base=$(git merge-base HEAD "${INPUT_BASE:-origin/HEAD}"); then
		echo "crds: HEAD and ${INPUT_BASE:-origin/HEAD} have no common commit in this clone; set fetch-depth: 0 for actions/checkout" >&2
		checked=2
	# New CRDs break nobody.
	elif git cat-file -e "$base:$INPUT_CRDS" 2>/dev/null; then
		pequod crd check "$base:$INPUT_CRDS" "$INPUT_CRDS" -o github || checked=$?
	fi
	((checked <= code)) || code=$checked
fi

echo "::stop-commands::$quiet"
trap 'echo "::$quiet::"' EXIT

while IFS= read -r line; do
	checked=0
	case $line in
	"") ;;
	graphs) pequod render --check || checked=$? ;;
	crds) pequod crd generate --check || checked=$? ;;
	*)
		echo "check: $line: want graphs or crds" >&2
		checked=2
		;;
	esac
	((checked <= code)) || code=$checked
done <<<"$INPUT_CHECK"

review=(review ${args[@]+"${args[@]}"} -o markdown --max-size 60000)
[[ -z $INPUT_BASE ]] || review+=(--base "$INPUT_BASE")
[[ -z $INPUT_LINK ]] || review+=(--link "$INPUT_LINK")
[[ -z $INPUT_FAIL_ON ]] || review+=(--fail-on "$INPUT_FAIL_ON")
for format in json html text; do
	review+=(--report "$format=$OUT/review.$format")
done
reviewed=0
pequod "${review[@]}" >"$OUT/review.md" || reviewed=$?
((reviewed <= code)) || code=$reviewed

if [[ -s $OUT/review.json ]]; then
	comment=(comment "$OUT/review.md" --review "$OUT/review.json" --name "$INPUT_NAME")
	[[ -z $INPUT_LABEL_PREFIX ]] || comment+=(--label-prefix "$INPUT_LABEL_PREFIX")
	if [[ $INPUT_COMMENT != true || $FORK == true ]]; then
		# The token of a fork's workflow may not write.
		comment+=(--no-post)
	fi
	posted=0
	pequod "${comment[@]}" >"$OUT/outputs" || posted=$?
	# 1 means that the pull request has moved on: another run will comment.
	((posted == 1 || posted <= code)) || code=$posted
	cat "$OUT/outputs" >>"$GITHUB_OUTPUT"
	# The summary of a step takes 1 MiB.
	cat "$OUT/review.md" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
