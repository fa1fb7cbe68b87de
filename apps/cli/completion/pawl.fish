# Completion of pawl for fish.

function __pawl_locks
    pawl ls --json 2>/dev/null | string replace -rf '^    \{"name": "([^"\\\\]*)", .*' '$1'
end

function __pawl_in
    __fish_seen_subcommand_from $argv; and not contains -- -- (commandline -opc)
end

set -l subcommands run hold elect leader ls show revoke check epoch demo bench torture schema schemes version help
complete -c pawl -f
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a run -d 'Run a command under a lock'
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a elect -d 'Run a command while we lead'
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a hold -d 'Hold a lock while a script runs'
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a help -d 'Print the help of a subcommand'
complete -c pawl -n "__pawl_in help" -a "$subcommands"
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a leader -d 'Print who leads an election'
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a ls -d 'List the locks in use'
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a show -d 'Show who holds a lock and who waits'
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a revoke -d 'Ask a holder to let go'
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a check -d 'Ask whether a grant still stands'
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a epoch -d "Print the store's epoch, or begin one"
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a demo -d 'Watch processes contend for a lock'
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a bench -d 'Measure the locks beside their floors'
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a torture -d 'Stop and kill processes that hold locks'
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a schema -d 'Print or make tables in a database'
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a schemes -d 'List the stores and their schemes'
complete -c pawl -n "not __fish_seen_subcommand_from $subcommands" -a version -d 'Print the version'
complete -c pawl -l store -x -a "file:/// redis:// rediss:// redis+unix:/// redis+sentinel:// redlock:// redlock+tls:// redlock+unix:// mysql:// mariadb:// mysql+unix:/// zookeeper:// etcd:// etcd+tls:// etcd+srv:// memory:" -d 'Where the locks are'
complete -c pawl -s h -l help -d 'Print help'
complete -c pawl -n "__pawl_in run hold elect leader ls show revoke" -a "(__pawl_locks)"
complete -c pawl -n "__pawl_in run hold elect leader ls show revoke check torture" -l scheme -x -d 'How the lock is built'
complete -c pawl -n "__pawl_in leader ls show check epoch bench schemes" -l json -d 'For programs'
complete -c pawl -n "__pawl_in show revoke" -l kind -x -a "mutex rw permits election" -d 'Only this kind of lock'
complete -c pawl -n "__pawl_in run elect hold" -l wait -x -d 'Give up after this long'
complete -c pawl -n "__pawl_in run elect hold" -l no-wait -d 'Give up at once'
complete -c pawl -n "__pawl_in run elect hold" -l monitor-retry -d 'Try again while the store is away'
complete -c pawl -n "__pawl_in run elect" -l no-fork -d 'Become the command'
complete -c pawl -n "__pawl_in run elect hold torture" -l lease -x -d 'How long the store believes in us'
complete -c pawl -n "__pawl_in run elect" -l grace -x -d 'Between TERM and KILL'
complete -c pawl -n "__pawl_in run elect hold" -l lock-delay -x -d 'Shut this long if we fail'
complete -c pawl -n "__pawl_in run elect hold" -l label -x -d 'Shown by pawl show'
complete -c pawl -n "__pawl_in run elect hold" -l name -x -d 'A name that begins with -'
complete -c pawl -n "__pawl_in run elect hold" -l any-kind -d 'Also beside another kind of lock'
complete -c pawl -n "__pawl_in run elect hold" -s E -x -d 'The exit code in place of 124'
complete -c pawl -n "__pawl_in run elect hold" -l max-hold -x -d 'End after this long'
complete -c pawl -n "__pawl_in run elect hold" -l log -r -F -d 'Append what happens as JSON lines'
complete -c pawl -n "__pawl_in run elect hold" -s q -l quiet -d 'Errors only'
complete -c pawl -n "__pawl_in run elect hold" -s v -l verbose -d 'The store, the token, what happens'
complete -c pawl -n "__pawl_in run elect" -l kill-children -d 'End what the command leaves behind'
complete -c pawl -n "__pawl_in run elect" -l keep-children -d 'Let it go on without the lock'
complete -c pawl -n "__pawl_in run elect" -l at-least -x -d 'Hold the lock this long'
complete -c pawl -n "__pawl_in run elect" -s c -x -d 'A line for the shell'
complete -c pawl -l version -d 'Print the version'
complete -c pawl -n "__pawl_in run hold" -l read -d 'Share it with other readers'
complete -c pawl -n "__pawl_in run hold" -l write -d 'Alone, no readers'
complete -c pawl -n "__pawl_in run hold" -l permits -x -a "1/2 1/3 1/4 1/8" -d 'Permits of a semaphore'
complete -c pawl -n "__pawl_in run hold" -l also -x -a "(__pawl_locks)" -d 'A further lock'
complete -c pawl -n "__pawl_in elect" -l value -x -d 'What pawl leader prints'
complete -c pawl -n "__pawl_in leader" -s f -l follow -d 'Print every change'
complete -c pawl -n "__pawl_in revoke" -l now -d 'Take it away'
complete -c pawl -n "__pawl_in revoke" -l claim -x -d 'Which claim'
complete -c pawl -n "__pawl_in epoch" -a new -d 'Begin a new epoch'
complete -c pawl -n "__pawl_in demo torture" -l workers -x -d 'How many processes'
complete -c pawl -n "__pawl_in torture" -l seconds -x -d 'How long'
complete -c pawl -n "__pawl_in torture" -l seed -x -d 'What is left to chance follows from it'
complete -c pawl -n "__pawl_in demo bench" -l time -x -d 'How long'
complete -c pawl -n "__pawl_in schema" -l apply -d 'Make or upgrade them now'
complete -c pawl -n "__pawl_in schemes" -l markdown -d 'As a table for documents'
