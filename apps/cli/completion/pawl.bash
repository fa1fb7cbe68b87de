# Completion of pawl for bash.

# The names of locks in use, if they need no quotes and bash does not break them; none if the store does not answer.
_pawl_locks() {
  local name
  pawl "${store[@]}" ls --json 2>/dev/null | sed -n 's/^    {"name": "\([^"\\]*\)", .*/\1/p' | while read -r name; do
    case $name in *[!A-Za-z0-9/._@%+-]*) ;; *) printf '%s\n' "$name" ;; esac
  done
}

_pawl_schemes() {
  pawl schemes --json 2>/dev/null | sed -n 's/.*"scheme": "\([^"]*\)".*/\1/p' | sort -u
}

# What pawl run and pawl elect execute is completed like any command.
_pawl_command() {
  local i
  [[ $1 == run || $1 == elect ]] && declare -F _command_offset >/dev/null || return 1
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} != -- ]] || { _command_offset $((i + 1)) && return; }
  done
}

_pawl() {
  local word=${COMP_WORDS[COMP_CWORD]} subcommand="" before="" i
  local stores="file:/// redis:// rediss:// redis+unix:/// redis+sentinel:// redlock:// redlock+tls:// redlock+unix://"
  stores+=" mysql:// mariadb:// mysql+unix:/// zookeeper:// etcd:// etcd+tls:// etcd+srv:// memory:"
  local subcommands="run hold elect leader ls show revoke check epoch demo bench torture schema schemes version help"
  local -a line=("${COMP_WORDS[@]:0:COMP_CWORD}") store=()
  # bash breaks words at colons as well, and there is one in every URL.
  [[ -z ${COMP_LINE-} ]] || read -ra line <<<"${COMP_LINE:0:COMP_POINT-${#word}}"
  COMPREPLY=()
  for ((i = 1; i < ${#line[@]}; i++)); do
    case ${line[i]} in
      --store) store=(--store "${line[++i]}") ;;
      --store=*) store=("${line[i]}") ;;
      --)
        _pawl_command "$subcommand"
        return 0
        ;;
      -*) ;;
      *) [[ -n $subcommand ]] || subcommand=${line[i]} ;;
    esac
  done
  [[ ${#line[@]} -lt 2 ]] || before=${line[-1]}

  case $before in
    --kind) COMPREPLY=($(compgen -W "mutex rw permits election" -- "$word")) && return ;;
    --scheme) COMPREPLY=($(compgen -W "$(_pawl_schemes)" -- "$word")) && return ;;
    --store) COMPREPLY=($(compgen -W "$stores" -- "$word")) && return ;;
    --wait | --lease | --grace | --lock-delay | --max-hold | --at-least | --time)
      COMPREPLY=($(compgen -W "1s 5s 10s 30s 1m 5m" -- "$word"))
      return
      ;;
    --also) COMPREPLY=($(compgen -W "$(_pawl_locks)" -- "$word")) && return ;;
    --permits) COMPREPLY=($(compgen -W "1/2 1/3 1/4 1/8" -- "$word")) && return ;;
    --log) COMPREPLY=($(compgen -f -- "$word")) && return ;;
    --label | -c | --name | --value | --claim | --workers | --seconds | --seed | -E) return ;;
  esac

  local words="" taking="--wait --no-wait --monitor-retry --lease --lock-delay --max-hold --scheme --label --name --any-kind --log -E"
  taking+=" -q --quiet -v --verbose --store --help"
  local choice="--read --write --permits --also" command="--grace --no-fork --kill-children --keep-children --at-least -c"
  case $subcommand in
    "") words="$subcommands --store --help --version" ;;
    run) words="$choice $taking $command" ;;
    hold) words="$choice $taking" ;;
    elect) words="--value $taking $command" ;;
    leader) words="-f --follow --scheme --json --store --help" ;;
    ls) words="--scheme --json --store --help" ;;
    show) words="--kind --scheme --json --store --help" ;;
    revoke) words="--now --kind --claim --scheme --store --help" ;;
    check) words="--scheme --json --store --help" ;;
    epoch) words="new --json --store --help" ;;
    demo) words="--workers --time --help" ;;
    bench) words="--time --json --store --help" ;;
    torture) words="--seconds --workers --seed --lease --scheme --store --help" ;;
    schema) words="--apply --store --help" ;;
    schemes) words="--json --markdown --help" ;;
    version | help) words="--help" ;;
  esac
  if [[ $word != -* ]]; then
    [[ -z $subcommand || $subcommand == epoch ]] || words=""
    case $subcommand in
      help) words=$subcommands ;;
      run | hold | elect | leader | ls | show | revoke) words=$(_pawl_locks) ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}

complete -F _pawl pawl
