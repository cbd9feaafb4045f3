#!/usr/bin/env bash
# Renders the checked out commit to a branch for GitOps Promoter:
# hydrate.sh ENVIRONMENT_BRANCH [flags of pequod render...]
#
# The output is committed to ENVIRONMENT_BRANCH-next, from which GitOps Promoter makes a pull
# request. hydrator.metadata and a git note name the commit that was rendered, as
# https://gitops-promoter.readthedocs.io describes for custom hydrators. If nothing
# changes, only the note is written. A commit that is older than the one that was rendered
# last is left alone. REMOTE is the name of the remote; the default is origin.
set -euo pipefail

[[ $# -ge 1 && $1 != -* ]] || {
	echo "usage: hydrate.sh ENVIRONMENT_BRANCH [flags of pequod render...]" >&2
	exit 2
}
remote=${REMOTE:-origin}
active=$1
next=$1-next
shift
notes=refs/notes/hydrator.metadata
dry=$(git rev-parse HEAD)

[[ -z $(git status --porcelain) ]] || {
	echo "hydrate.sh: there are uncommitted changes, which no commit could name" >&2
	exit 2
}

# json prints a JSON string. Control characters other than line ends are dropped.
json() {
	local text
	text=$(tr -d '\000-\010\013-\037\177')
	text=${text//\\/\\\\}
	text=${text//\"/\\\"}
	text=${text//$'\t'/\\t}
	printf '"%s"' "${text//$'\n'/\\n}"
}

# fetch fetches a ref. It fails if the remote can't be reached, but not for a missing ref.
fetch() {
	if [[ -n $(git ls-remote "$remote" "$1") ]]; then
		git fetch --quiet "$remote" "+$1:$2"
	else
		git update-ref -d "$2"
	fi
}

# annotate writes the note of a commit. Others may push notes at the same time.
annotate() {
	for _ in 1 2 3 4 5 6 7 8; do
		fetch "$notes" "$notes"
		git notes --ref="$notes" add -f -m "{\"drySha\": \"$dry\"}" "$1" 2>/dev/null
		if git push --quiet "$remote" "$notes" 2>/dev/null; then
			return 0
		fi
		sleep 1
	done
	echo "hydrate.sh: the note of $1 can't be pushed" >&2
	return 2
}

fetch "$notes" "$notes"
fetch "refs/heads/$active" "refs/pequod/active"
fetch "refs/heads/$next" "refs/pequod/next"

work=$(mktemp -d)
trap 'git worktree remove --force "$work/tree" 2>/dev/null || true; rm -rf "$work"' EXIT
if tip=$(git rev-parse --verify --quiet refs/pequod/next); then
	last=$(git notes --ref="$notes" show "$tip" 2>/dev/null | sed -n 's/.*"drySha": *"\([0-9a-f]*\)".*/\1/p') || true
	if [[ $last == "$dry" ]]; then
		echo "$next is rendered from $dry already"
		exit 0
	fi
	if [[ -n $last ]] && git merge-base --is-ancestor "$dry" "$last" 2>/dev/null; then
		echo "$next is rendered from $last, which is newer than $dry"
		exit 0
	fi
	git worktree add --quiet --detach "$work/tree" "$tip"
elif git rev-parse --verify --quiet refs/pequod/active >/dev/null; then
	# The two branches must have commits in common to be merged.
	git worktree add --quiet --detach "$work/tree" refs/pequod/active
else
	empty=$(git commit-tree -m "Begin $active" "$(git hash-object -t tree -w /dev/null)")
	git worktree add --quiet --detach "$work/tree" "$empty"
fi

pequod render "$@" --output-dir "$work/tree/graphs" --prune --allow-empty
cd "$work/tree"
git add -A graphs 2>/dev/null || true # nothing is rendered and nothing was
if [[ -n ${tip:-} ]] && git diff --cached --quiet; then
	annotate "$tip"
	echo "$next stays as it is for $dry"
	exit 0
fi
cat >hydrator.metadata <<END
{
  "drySha": "$dry",
  "repoURL": $(git remote get-url "$remote" | sed 's,//[^/@]*@,//,' | json),
  "author": $(git show -s --format='%an <%ae>' "$dry" | json),
  "date": "$(git show -s --format=%cI "$dry")",
  "subject": $(git show -s --format=%s "$dry" | json),
  "body": $(git show -s --format=%b "$dry" | json)
}
END
git add -A
git commit --quiet -m "Render $dry"
git push --quiet "$remote" "HEAD:refs/heads/$next"
annotate "$(git rev-parse HEAD)"
echo "$next is rendered from $dry"
