package main

import (
	"context"
	"errors"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

// etcd's concurrency.Mutex. One client per process, and a session (a lease) for each waiter: the key of a waiter is named
// after its lease.

type etcdLock struct {
	mutex *concurrency.Mutex
}

func (l *etcdLock) acquire(until int64) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(until-now()))
	defer cancel()
	err := l.mutex.Lock(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	return err == nil, err
}

func (l *etcdLock) release() error { return l.mutex.Unlock(context.Background()) }

var etcdClient *clientv3.Client

func openEtcd(url string) (func(name string) lock, error) {
	if etcdClient != nil {
		etcdClient.Close()
	}
	server := strings.TrimPrefix(url, "etcd://")
	made, err := clientv3.New(clientv3.Config{
		Endpoints: []string{server}, DialTimeout: 30 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	etcdClient = made
	return func(name string) lock {
		session, err := concurrency.NewSession(made, concurrency.WithTTL(600))
		if err != nil {
			panic(err)
		}
		return &etcdLock{concurrency.NewMutex(session, "go-etcd/"+name)}
	}, nil
}
