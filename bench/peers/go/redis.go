package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	goredsync "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redsync and bsm/redislock. One go-redis client per server and process with its default pool.

const lease = 30 * time.Second

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

// servers tells those of redis://HOST, or of redlock://HOST,HOST,...
func servers(url string) []string {
	_, hosts, _ := strings.Cut(url, "://")
	return strings.Split(hosts, ",")
}

func connect(server string) (*redis.Client, error) {
	options, err := redis.ParseURL("redis://" + server)
	if err != nil {
		return nil, err
	}
	client := redis.NewClient(options)
	return client, client.Ping(context.Background()).Err()
}

func openRedsync(url string) (func(name string) lock, error) {
	var pools []goredsync.Pool
	for _, server := range servers(url) {
		client, err := connect(server)
		if err != nil {
			return nil, err
		}
		pools = append(pools, goredis.NewPool(client))
	}
	made := redsync.New(pools...)
	// Its own pauses, but as many tries as there is time for.
	const tries = 1 << 30
	return func(name string) lock {
		return &redsyncLock{made.NewMutex(name, redsync.WithExpiry(lease), redsync.WithTries(tries))}
	}, nil
}

func openRedislock(url string) (func(name string) lock, error) {
	client, err := connect(servers(url)[0])
	if err != nil {
		return nil, err
	}
	locker := redislock.New(client)
	return func(name string) lock { return &redislockLock{client: locker, name: name} }, nil
}
