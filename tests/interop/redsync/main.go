// Go's redsync behind the line protocol of tests/interop/peer.hpp.
//
// usage: redsync_lock PORT...    the servers on the loopback address
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"
)

const (
	usualLease = 60 * time.Second
	pause      = 20 * time.Millisecond
	forEver    = 1 << 30
)

type locks struct {
	redsync *redsync.Redsync
	held    map[string]*redsync.Mutex
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return value
}

// As many tries as there is time for. (A context that ends during a try would leave that try's keys behind: redsync undoes
// it with the same context.)
func (l *locks) mutex(name string, lease, wait int) *redsync.Mutex {
	expiry, tries := usualLease, forEver
	if lease >= 0 {
		expiry = time.Duration(lease) * time.Millisecond
	}
	if wait >= 0 {
		tries = 1 + wait/int(pause.Milliseconds())
	}
	return l.redsync.NewMutex(name, redsync.WithExpiry(expiry), redsync.WithTries(tries), redsync.WithRetryDelay(pause))
}

func (l *locks) acquire(name, lease, wait string) error {
	mutex := l.mutex(name, number(lease), number(wait))
	if err := mutex.Lock(); err != nil {
		return err
	}
	l.held[name] = mutex
	return nil
}

func unlock(mutex *redsync.Mutex) error {
	if done, err := mutex.Unlock(); err != nil || !done {
		return errors.Join(err, errors.New("not unlocked"))
	}
	return nil
}

func (l *locks) release(name string) error {
	mutex, ok := l.held[name]
	if !ok {
		return errors.New("not held")
	}
	delete(l.held, name)
	return unlock(mutex)
}

func (l *locks) owned(name string) string {
	mutex, ok := l.held[name]
	if !ok {
		return "false"
	}
	valid, _ := mutex.Valid()
	return strconv.FormatBool(valid)
}

func bump(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	time.Sleep(time.Millisecond) // what another client writes meanwhile is lost, or what we write
	return os.WriteFile(path, []byte(strconv.Itoa(number(strings.TrimSpace(string(text)))+1)), 0o600)
}

func (l *locks) visit(name, path string, times int) error {
	for i := 0; i < times; i++ {
		mutex := l.mutex(name, -1, -1)
		if err := mutex.Lock(); err != nil {
			return err
		}
		if err := bump(path); err != nil {
			return err
		}
		if err := unlock(mutex); err != nil {
			return err
		}
	}
	return nil
}

func (l *locks) do(words []string) (string, error) {
	switch words[0] {
	case "acquire":
		return "", l.acquire(words[1], words[2], words[3])
	case "release":
		return "", l.release(words[1])
	case "owned":
		return l.owned(words[1]), nil
	case "bump":
		return "", bump(words[1])
	case "visit":
		return "", l.visit(words[1], words[2], number(words[3]))
	}
	return "", errors.New("unknown: " + words[0])
}

func (l *locks) answer(words []string) string {
	result, err := l.do(words)
	var taken *redsync.ErrTaken
	switch {
	case words[0] == "acquire" && (errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed)):
		return "no"
	case err != nil:
		return "no " + strings.ReplaceAll(err.Error(), "\n", ", ")
	case result == "":
		return "ok"
	}
	return "ok " + result
}

func main() {
	var pools []redis.Pool
	for _, port := range os.Args[1:] {
		pools = append(pools, goredis.NewPool(goredislib.NewClient(&goredislib.Options{Addr: "127.0.0.1:" + port})))
	}
	l := &locks{redsync.New(pools...), map[string]*redsync.Mutex{}}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if words[0] == "quit" {
			return
		}
		fmt.Println(l.answer(words))
	}
}
