import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's RedissonRedLock as a participant. A RedissonClient per server and process with its default settings. */
final class RedissonRedLockPeer extends Participant {
  private final List<RedissonClient> clients = new ArrayList<>();

  public static void main(String[] arguments) throws Exception {
    new RedissonRedLockPeer().serve();
  }

  @Override
  void open(String url) {
    clients.forEach(RedissonClient::shutdown);
    clients.clear();
    for (String host : url.substring("redlock://".length()).split(",")) {
      Config config = new Config();
      config.useSingleServer().setAddress("redis://" + host);
      clients.add(Redisson.create(config));
    }
  }

  @Override
  Lock lock(String name) {
    RLock lock = new RedissonRedLock(clients.stream().map(client -> client.getLock(name)).toArray(RLock[]::new));
    return new Lock() {
      @Override
      public boolean acquire(long until) throws InterruptedException {
        long left = TimeUnit.NANOSECONDS.toMillis(until - now());
        return left > 0 && lock.tryLock(left, TimeUnit.MILLISECONDS);
      }

      @Override
      public void release() {
        lock.unlock();
      }
    };
  }
}
