#!/usr/bin/env bash
# Posts a review that another workflow has made: comment.sh DIRECTORY
#
# The directory has the artifact of a workflow that may have run the code of strangers.
# Its text is shown as it is, in a code block. Which pull request it belongs to is
# what GitHub says, never what the artifact says.
set -euo pipefail

# The runner would execute lines of strangers that look like workflow commands.
quiet=pequod-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$quiet"
trap 'echo "::$quiet::"' EXIT

for file in "$1/review.text" "$1/review.json"; do
	# A link could lead to a file of this machine, which would be posted.
	if [[ ! -f $file || -L $file || -L $1 ]]; then
		echo "comment.sh: $file is not a regular file" >&2
		exit 2
	fi
done

comment=(comment "$1/review.text" --plain --review "$1/review.json" --name "$INPUT_NAME")
[[ -z $INPUT_LABEL_PREFIX ]] || comment+=(--label-prefix "$INPUT_LABEL_PREFIX")
code=0
outputs=$(pequod "${comment[@]}") || code=$?
echo "$outputs" >>"$GITHUB_OUTPUT"
# 1 means that the pull request has moved on: another run will comment.
((code == 1)) || exit "$code"
