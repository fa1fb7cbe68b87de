// Go's concurrency.Mutex and concurrency.Election behind the line protocol of tests/interop/peer.hpp.
//
// usage: etcd_lock PORT    a server on the loopback address
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

const usualTTL = 60

type held struct {
	mutex   *concurrency.Mutex
	session *concurrency.Session
}

type locks struct {
	client    *clientv3.Client
	held      map[string]held
	elections map[string]*concurrency.Election
}

func milliseconds(text string) time.Duration {
	number, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return time.Duration(number) * time.Millisecond
}

// The smallest TTL is a second, and it is a whole number of them.
func seconds(lease string) int {
	if strings.HasPrefix(lease, "-") {
		return usualTTL
	}
	return int((milliseconds(lease) + time.Second - 1) / time.Second)
}

func (l *locks) session(ttl int) (*concurrency.Session, error) {
	return concurrency.NewSession(l.client, concurrency.WithTTL(ttl))
}

func (l *locks) acquire(name, lease, wait string) (string, error) {
	session, err := l.session(seconds(lease))
	if err != nil {
		return "", err
	}
	mutex := concurrency.NewMutex(session, name)
	ctx, cancel := context.Background(), func() {}
	if !strings.HasPrefix(wait, "-") && wait != "0" {
		ctx, cancel = context.WithTimeout(ctx, milliseconds(wait))
	}
	defer cancel()
	if wait == "0" {
		err = mutex.TryLock(ctx)
	} else {
		err = mutex.Lock(ctx)
	}
	if err != nil {
		session.Close()
		return "", err
	}
	l.held[name] = held{mutex, session}
	return "", nil
}

func (l *locks) release(name string) error {
	one, ok := l.held[name]
	if !ok {
		return errors.New("not held")
	}
	delete(l.held, name)
	defer one.session.Close()
	return one.mutex.Unlock(context.Background())
}

// Without keepalives from now on, as if it had died.
func (l *locks) orphan(name string) error {
	l.held[name].session.Orphan()
	return nil
}

func bump(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	time.Sleep(time.Millisecond) // what another client writes meanwhile is lost, or what we write
	return os.WriteFile(path, []byte(strconv.Itoa(number+1)), 0o600)
}

func (l *locks) visit(name, path, times string) error {
	session, err := l.session(usualTTL)
	if err != nil {
		return err
	}
	defer session.Close()
	n, _ := strconv.Atoi(times)
	for i := 0; i < n; i++ {
		mutex := concurrency.NewMutex(session, name)
		if err := mutex.Lock(context.Background()); err != nil {
			return err
		}
		if err := bump(path); err != nil {
			return err
		}
		if err := mutex.Unlock(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

func (l *locks) election(name string) (*concurrency.Election, error) {
	if known, ok := l.elections[name]; ok {
		return known, nil
	}
	session, err := l.session(usualTTL)
	if err != nil {
		return nil, err
	}
	l.elections[name] = concurrency.NewElection(session, name)
	return l.elections[name], nil
}

func (l *locks) campaign(name, value string) error {
	election, err := l.election(name)
	if err != nil {
		return err
	}
	return election.Campaign(context.Background(), value)
}

func (l *locks) resign(name string) error {
	election, err := l.election(name)
	if err != nil {
		return err
	}
	return election.Resign(context.Background())
}

// What the first observation tells; of an election without a leader, once there is one.
func (l *locks) observe(name string) (string, error) {
	election, err := l.election(name)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answer, ok := <-election.Observe(ctx)
	if !ok || len(answer.Kvs) == 0 {
		return "", errors.New("nothing observed")
	}
	return string(answer.Kvs[0].Value), nil
}

func (l *locks) leader(name string) (string, error) {
	election, err := l.election(name)
	if err != nil {
		return "", err
	}
	answer, err := election.Leader(context.Background())
	if err != nil {
		return "", err
	}
	return string(answer.Kvs[0].Value), nil
}

func (l *locks) do(words []string) (string, error) {
	switch words[0] {
	case "acquire":
		return l.acquire(words[1], words[2], words[3])
	case "release":
		return "", l.release(words[1])
	case "orphan":
		return "", l.orphan(words[1])
	case "bump":
		return "", bump(words[1])
	case "visit":
		return "", l.visit(words[1], words[2], words[3])
	case "campaign":
		return "", l.campaign(words[1], words[2])
	case "resign":
		return "", l.resign(words[1])
	case "observe":
		return l.observe(words[1])
	case "leader":
		return l.leader(words[1])
	}
	return "", errors.New("unknown: " + words[0])
}

func answer(result string, err error) string {
	switch {
	case errors.Is(err, concurrency.ErrLocked), errors.Is(err, context.DeadlineExceeded):
		return "no"
	case err != nil:
		return "no " + strings.ReplaceAll(err.Error(), "\n", " ")
	case result == "":
		return "ok"
	}
	return "ok " + result
}

func main() {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"127.0.0.1:" + os.Args[1]}, DialTimeout: 30 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		panic(err)
	}
	l := &locks{client, map[string]held{}, map[string]*concurrency.Election{}}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if words[0] == "quit" {
			return
		}
		fmt.Println(answer(l.do(words)))
	}
}
