import java.net.URI;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator's InterProcessMutex as a participant. One CuratorFramework per process, a mutex for each waiter. */
final class CuratorPeer extends Participant {
  private CuratorFramework client;

  public static void main(String[] arguments) throws Exception {
    new CuratorPeer().serve();
  }

  @Override
  void open(String url) throws Exception {
    if (client != null) client.close();
    client = CuratorFrameworkFactory.newClient(URI.create(url).getAuthority(), new ExponentialBackoffRetry(1000, 3));
    client.start();
    if (!client.blockUntilConnected(30, TimeUnit.SECONDS)) throw new IllegalStateException("no connection to " + url);
  }

  @Override
  Lock lock(String name) {
    InterProcessMutex mutex = new InterProcessMutex(client, "/curator/" + name);
    return new Lock() {
      @Override
      public boolean acquire(long until) throws Exception {
        // It counts in milliseconds. What is left of the last one is not asked for.
        long left = TimeUnit.NANOSECONDS.toMillis(until - now());
        return left > 0 && mutex.acquire(left, TimeUnit.MILLISECONDS);
      }

      @Override
      public void release() throws Exception {
        mutex.release();
      }
    };
  }
}
