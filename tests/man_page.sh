#!/bin/sh
# man_page.sh - prints the man page anew: docs/ring_demo.1 with its generated parts, commands,
# options and examples, as ring_demo's own --help tells them. `make samples` writes it.

set -u
demo=${RING_DEMO:-./ring_demo}
page=docs/ring_demo.1
work=$(mktemp -d "${TMPDIR:-/tmp}/ring_demo_man.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

commands=$("$demo" --help | sed -n '2,/^$/s/^  ring_demo \([a-z]*\).*/\1/p')
for command in $commands; do "$demo" "$command" --help | sed "s/^/$command:/"; done >"$work/help"

# What roff would take for its own.
quote() { sed 's/\\/\\e/g; s/-/\\-/g; s/^\([.'"'"']\)/\\\&\1/'; }

print_commands() {
    "$demo" --help | sed -n '2,/^$/s/^  ring_demo //p' | while IFS= read -r line; do
        name=$(printf %s "$line" | cut -c1-15 | sed 's/ *$//' | tr -s ' ' | quote)
        printf '.TP\n.B ring_demo %s\n%s.\n' "$name" "$(printf %s "$line" | cut -c17- | quote)"
    done
}

# One entry for each option: its letter and argument, its words, and the commands that have it.
print_options() {
    awk -F: '
        { command = $1; line = substr($0, length($1) + 2) }
        line ~ /^  (-[a-zA-Z], |    )--/ {
            left = substr(line, 1, 24); words = substr(line, 25)
            if (left !~ / $/) { # the argument reaches into the words
                match(line, /--[^ ]+ [^ ]+ /)
                left = substr(line, 1, RSTART + RLENGTH - 2); words = substr(line, RSTART + RLENGTH)
            }
            gsub(/^ +| +$/, "", left)
            if (!(left in text)) order[n++] = left
            key = left
            of[key] = of[key] (of[key] == "" ? "" : ", ") command
            first = text[key] == ""
            if (first) text[key] = words
            next
        }
        line ~ /^ +[^ ]/ && key != "" {
            sub(/^ +/, "", line)
            if (first) text[key] = text[key] " " line
            next
        }
        { key = "" }
        END { for (i = 0; i < n; i++) printf "%s|%s|%s\n", order[i], text[order[i]], of[order[i]] }
    ' "$work/help" | while IFS='|' read -r left words of; do
        printf '.TP\n.B %s\n%s.\n' "$(printf %s "$left" | quote)" "$(printf %s "$words" | quote)"
        [ "$of" = "$(echo $commands | sed 's/ /, /g')" ] || printf '(%s)\n' "$of"
    done
}

print_examples() {
    printf '.nf\n'
    sed -n 's/^[a-z]*:  \(ring_demo .*\)/\1/p' "$work/help" | awk '!seen[$0]++' |
        grep -v '^ring_demo [a-z]*  ' | quote
    printf '.fi\n'
}

while IFS= read -r line; do
    case $line in
    '.\" generated: '*)
        printf '%s\n' "$line"
        print_"${line#*: }"
        skip=1
        ;;
    '.\" end') skip='' ;;
    esac
    [ -n "${skip-}" ] || printf '%s\n' "$line"
done <"$page"
