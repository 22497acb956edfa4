#!/bin/sh
# What `make demo` shows: a memory set up, filled and read back, in a scratch repository that is removed afterwards.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
export MEMCTL_AGENT=claude

show() {
    printf '\n$ memctl'
    for word in "$@"; do
        case $word in *[!A-Za-z0-9_.=-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    memctl "$@"
}

mkdir "$scratch/shop"
cd "$scratch/shop"
show init --git
show decide 'Adopt PostgreSQL over MongoDB' --rationale 'Orders and payments need transactions.' \
    --alternative 'MongoDB: weaker guarantees across documents' --importance 9 --tag database
show issue 'Checkout times out under load' --severity critical --reproduction '100 concurrent requests, 30 % time out' \
    --next 'Queue connections instead of retrying'
show state 'Profile API' --completion 65 --done 'GET and PUT' --remaining 'PATCH' --next 'Finish the cascade of DELETE'
show learn 'Retries hide an exhausted pool' --lesson 'Look at the pool before adding retries.'
show rehydrate
printf '\n$ git log --oneline\n'
git log --oneline
