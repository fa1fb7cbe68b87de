// Go libraries as participants: the line protocol of bench/README.md. One client per process; each goroutine is a waiter of
// its own.
package main

import (
	"bufio"
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
)

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

// openers connect, and answer what makes a lock of that library.
var openers = map[string]func(url string) (func(name string) lock, error){
	"redsync":      openRedsync,
	"redislock":    openRedislock,
	"go-zookeeper": openZooKeeper,
	"go-etcd":      openEtcd,
}

func open(url, scheme string) error {
	opener, known := openers[scheme]
	if !known {
		return fmt.Errorf("no such scheme: %s", scheme)
	}
	made, err := opener(url)
	makeLock = made
	return err
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
