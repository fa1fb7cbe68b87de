import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's RLock as a participant. One RedissonClient per process with its default settings. */
final class RedissonPeer extends Participant {
  private RedissonClient client;

  public static void main(String[] arguments) throws Exception {
    new RedissonPeer().serve();
  }

  @Override
  void open(String url) {
    if (client != null) client.shutdown();
    Config config = new Config();
    config.useSingleServer().setAddress(url);
    client = Redisson.create(config);
  }

  @Override
  Lock lock(String name) {
    RLock lock = client.getLock(name);
    return new Lock() {
      @Override
      public boolean acquire(long until) throws InterruptedException {
        long left = until - now();
        return left > 0 && lock.tryLock(left, TimeUnit.NANOSECONDS);
      }

      @Override
      public void release() {
        lock.unlock();
      }
    };
  }
}
