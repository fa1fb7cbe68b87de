package main

import (
	"errors"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// go-zookeeper's Lock. One connection per process.

type zooKeeperLock struct {
	lock *zk.Lock
}

// It cannot give up: what it gets too late is let go at once, and does not count.
func (l *zooKeeperLock) acquire(until int64) (bool, error) {
	if err := l.lock.Lock(); err != nil {
		return false, err
	}
	if now() < until {
		return true, nil
	}
	return false, l.lock.Unlock()
}

func (l *zooKeeperLock) release() error { return l.lock.Unlock() }

var connection *zk.Conn

func openZooKeeper(url string) (func(name string) lock, error) {
	if connection != nil {
		connection.Close()
	}
	server := strings.TrimPrefix(url, "zookeeper://")
	made, events, err := zk.Connect([]string{server}, time.Minute, zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	connection = made
	for patience := time.After(30 * time.Second); connection.State() != zk.StateHasSession; {
		select {
		case <-events:
		case <-patience:
			return nil, errors.New("no connection to " + server)
		}
	}
	return func(name string) lock {
		return &zooKeeperLock{zk.NewLock(connection, "/go-zookeeper/"+name, zk.WorldACL(zk.PermAll))}
	}, nil
}
