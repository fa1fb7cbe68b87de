// redsync and bsm/redislock as participants: see bench/README.md. One go-redis client per process with its default pool;
// each goroutine is a waiter of its own.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const lease = 30 * time.Second

// lock is what one waiter uses. acquire answers false when it was not its turn before the deadline.
type lock interface {
	acquire(until int64) (bool, error)
	release() error
}

var makeLock func(name string) lock

var (
	base    = monotonic()
	started = time.Now()
)

func monotonic() int64 {
	var ts syscall.Timespec
	const clockMonotonic = 1
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		panic(errno)
	}
	return ts.Nano()
}

// now tells the nanoseconds of CLOCK_MONOTONIC, which time.Since counts by as well.
func now() int64 { return base + int64(time.Since(started)) }

func sleepUntil(at int64) { time.Sleep(time.Duration(at - now())) }

type redsyncLock struct {
	mutex *redsync.Mutex
}

func (l *redsyncLock) acquire(until int64) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(until-now()))
	defer cancel()
	err := l.mutex.LockContext(ctx)
	if err == nil {
		return true, nil
	}
	var taken *redsync.ErrTaken
	var node *redsync.RedisError
	if ctx.Err() != nil || errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) {
		return false, nil
	}
	if errors.As(err, &node) && errors.Is(node.Err, context.DeadlineExceeded) {
		return false, nil
	}
	return false, err
}

func (l *redsyncLock) release() error {
	done, err := l.mutex.Unlock()
	if err == nil && !done {
		return errors.New("the lock was not ours")
	}
	return err
}

type redislockLock struct {
	client *redislock.Client
	name   string
	held   *redislock.Lock
}

// It has no strategy of its own for waiting: the shortest round number that its users may choose.
const redislockPause = time.Millisecond

func (l *redislockLock) acquire(until int64) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(until-now()))
	defer cancel()
	options := &redislock.Options{RetryStrategy: redislock.LinearBackoff(redislockPause)}
	held, err := l.client.Obtain(ctx, l.name, lease, options)
	if err == nil {
		l.held = held
		return true, nil
	}
	if ctx.Err() != nil || errors.Is(err, redislock.ErrNotObtained) {
		return false, nil
	}
	return false, err
}

func (l *redislockLock) release() error { return l.held.Release(context.Background()) }

func open(url, scheme string) error {
	options, err := redis.ParseURL(url)
	if err != nil {
		return err
	}
	client := redis.NewClient(options)
	if err := client.Ping(context.Background()).Err(); err != nil {
		return err
	}
	switch scheme {
	case "redsync":
		pool := redsync.New(goredis.NewPool(client))
		// Its own pauses, but as many tries as there is time for.
		const tries = 1 << 30
		makeLock = func(name string) lock {
			return &redsyncLock{pool.NewMutex(name, redsync.WithExpiry(lease), redsync.WithTries(tries))}
		}
	case "redislock":
		locker := redislock.New(client)
		makeLock = func(name string) lock { return &redislockLock{client: locker, name: name} }
	default:
		return fmt.Errorf("no such scheme: %s", scheme)
	}
	return nil
}

func inThreads(count int, part func(index int) error) error {
	var group sync.WaitGroup
	failures := make(chan error, count)
	for i := 0; i < count; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			if err := part(i); err != nil {
				failures <- err
			}
		}()
	}
	group.Wait()
	select {
	case err := <-failures:
		return err
	default:
		return nil
	}
}

func pairs(name string, milliseconds int64) (string, error) {
	l := makeLock(name)
	var samples []int64
	end := now() + milliseconds*1e6
	for begin := now(); begin < end; {
		acquired, err := l.acquire(end + 1e9)
		if err == nil && !acquired {
			err = fmt.Errorf("somebody else holds %s", name)
		}
		if err != nil {
			return "", err
		}
		if err := l.release(); err != nil {
			return "", err
		}
		done := now()
		samples = append(samples, done-begin)
		begin = done
	}
	sort.Slice(samples, func(i, j int) bool { return samples[i] < samples[j] })
	size := len(samples)
	return fmt.Sprintf("%d %d %d", size, samples[size/2], samples[size*99/100]), nil
}

func threads(name string, count int, milliseconds int64) (string, error) {
	var total atomic.Int64
	begin := now()
	end := begin + milliseconds*1e6
	err := inThreads(count, func(int) error {
		l := makeLock(name)
		for now() < end {
			acquired, err := l.acquire(end)
			if err != nil || !acquired {
				return err
			}
			if err := l.release(); err != nil {
				return err
			}
			total.Add(1)
		}
		return nil
	})
	return fmt.Sprintf("%d %d", total.Load(), now()-begin), err
}

func contend(name string, clients int, hold, start, end int64) (string, error) {
	reports := make([]string, clients)
	err := inThreads(clients, func(index int) error {
		l := makeLock(name)
		var report strings.Builder
		defer func() { reports[index] = report.String() }()
		sleepUntil(start + int64(index)*1e6)
		for asked := now(); asked < end; asked = now() {
			acquired, err := l.acquire(end)
			if err != nil {
				return err
			}
			since := now()
			if !acquired {
				fmt.Fprintf(&report, " %d,0,0", asked)
				return nil
			}
			if hold > 0 {
				sleepUntil(since + hold*1000)
			}
			released := now()
			if err := l.release(); err != nil {
				return err
			}
			fmt.Fprintf(&report, " %d,%d,%d", asked, since, released)
		}
		return nil
	})
	return strings.TrimSpace(strings.Join(reports, " |")), err
}

var held = map[string]lock{}

func take(name string) (string, error) {
	l, known := held[name]
	if !known {
		l = makeLock(name)
		held[name] = l
	}
	acquired, err := l.acquire(now() + 10e9)
	if err == nil && !acquired {
		err = fmt.Errorf("somebody else holds %s", name)
	}
	return strconv.FormatInt(now(), 10), err
}

func give(name string) (string, error) {
	released := now()
	err := held[name].release()
	return strconv.FormatInt(released, 10), err
}

func answer(words []string) (string, error) {
	number := func(index int) int64 {
		value, err := strconv.ParseInt(words[index], 10, 64)
		if err != nil {
			panic(err)
		}
		return value
	}
	switch words[0] {
	case "open":
		return "", open(words[1], words[2])
	case "prepare":
		return "", nil
	case "take":
		return take(words[1])
	case "give":
		return give(words[1])
	case "pairs":
		return pairs(words[1], number(2))
	case "threads":
		return threads(words[1], int(number(2)), number(3))
	case "contend":
		return contend(words[1], int(number(2)), number(3), number(4), number(5))
	}
	return "", fmt.Errorf("no such request: %s", words[0])
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() && in.Text() != "quit" {
		words, err := answer(strings.Fields(in.Text()))
		if err != nil {
			fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		fmt.Println(strings.TrimSpace("ok " + words))
	}
}
