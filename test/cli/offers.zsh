# What zsh offers at Tab:  zsh -f offers.zsh SCRIPT LINE
# Completion works in an interactive shell only, so one runs in a terminal of its own. There, what the script passes to
# compadd is printed between marks; calls that only store matches in arrays are left alone.
zmodload zsh/zpty
zpty child zsh -f -i
zpty -w child 'PROMPT=; autoload -Uz compinit; compinit -u -D; source '${(q)1}
zpty -w child '
compadd() {
  local end=${@[(i)(-|--)]}
  if [[ " ${@[1,end]} " == *" -"[[:alpha:]]#[OAD]" "* ]]; then builtin compadd "$@"; return; fi
  local -a offered
  builtin compadd -A offered "$@"
  (( $#offered )) && print -rl -- "<offer>"${^offered}"</offer>"
  builtin compadd "$@"
}
capture() { _main_complete; print "<end>" }
zle -C capture list-choices capture
bindkey "^I" capture
print "<re""ady>"
'
zpty -r -m child heard '*<ready>*'
zpty -w -n child "$2"$'\t'
zpty -r -m child heard '*<end>*'
for line in ${(f)heard}; do
  [[ $line == *'<offer>'*'</offer>'* ]] && print -r -- ${${line#*<offer>}%</offer>*}
done
zpty -d child
