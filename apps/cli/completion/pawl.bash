# Completion of pawl for bash.

# The names of locks in use, which need no quotes; silent if the store does not answer.
_pawl_locks() {
  local name
  pawl "${store[@]}" ls --json 2>/dev/null | sed -n 's/^    {"name": "\([^"\\]*\)", .*/\1/p' | while read -r name; do
    case $name in *[!A-Za-z0-9/._:@%+-]*) ;; *) printf '%s\n' "$name" ;; esac
  done
}

_pawl() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} subcommand="" i
  local -a store=()
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --store) store=(--store "${COMP_WORDS[++i]}") ;;
      --)
        # What pawl run executes is completed like any command.
        if [[ $subcommand == run ]] && declare -F _command_offset >/dev/null; then
          _command_offset $((i + 1))
        fi
        return
        ;;
      -*) ;;
      *) [[ -n $subcommand ]] || subcommand=${COMP_WORDS[i]} ;;
    esac
  done

  case $before in
    --kind) COMPREPLY=($(compgen -W "mutex rw permits election" -- "$word")) && return ;;
    --scheme) COMPREPLY=($(compgen -W "$(pawl schemes --json 2>/dev/null | sed -n 's/.*"scheme": "\([^"]*\)".*/\1/p')" -- "$word")) && return ;;
    --store) COMPREPLY=($(compgen -W "file:/// memory:" -- "$word")) && return ;;
    --wait | --lease | --grace | --lock-delay | --time) COMPREPLY=($(compgen -W "1s 5s 10s 30s 1m 5m" -- "$word")) && return ;;
    --label | --name | --claim | --workers | -E) return ;;
  esac

  local words=""
  case $subcommand in
    "") words="run ls show revoke check epoch demo bench schemes version --store --help --version" ;;
    run) words="--wait --no-wait --lease --grace --lock-delay --scheme --label --name -E --store --help" ;;
    ls) words="--scheme --json --store --help" ;;
    show) words="--kind --scheme --json --store --help" ;;
    revoke) words="--now --kind --claim --scheme --store --help" ;;
    check) words="--scheme --json --store --help" ;;
    epoch) words="new --json --store --help" ;;
    demo) words="--workers --time --help" ;;
    bench) words="--time --json --store --help" ;;
    schemes) words="--json --help" ;;
    version) words="--help" ;;
  esac
  if [[ $word != -* ]]; then
    [[ -z $subcommand || $subcommand == epoch ]] || words=""
    case $subcommand in
      run | ls | show | revoke) words=$(_pawl_locks) ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}

complete -F _pawl pawl
