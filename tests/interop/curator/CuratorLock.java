import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;

/**
 * Curator's locks behind the line protocol of tests/interop/zookeeper_peer.hpp. Arguments: the server's port on the loopback
 * address, and the session timeout in milliseconds.
 */
public final class CuratorLock {
  /** A lock of Curator's: those that belong to a thread, and leases that do not, look alike from here. */
  private interface Kind {
    boolean acquire(long wait) throws Exception;

    void release() throws Exception;

    Collection<String> nodes() throws Exception;
  }

  private static final class OfMutex implements Kind {
    private final InterProcessMutex mutex;

    OfMutex(InterProcessMutex mutex) {
      this.mutex = mutex;
    }

    @Override
    public boolean acquire(long wait) throws Exception {
      if (wait >= 0) {
        return mutex.acquire(wait, TimeUnit.MILLISECONDS);
      }
      mutex.acquire();
      return true;
    }

    @Override
    public void release() throws Exception {
      mutex.release();
    }

    @Override
    public Collection<String> nodes() throws Exception {
      return mutex.getParticipantNodes();
    }
  }

  private static final class OfSemaphore implements Kind {
    private final InterProcessSemaphoreV2 semaphore;
    private Lease lease;

    OfSemaphore(InterProcessSemaphoreV2 semaphore) {
      this.semaphore = semaphore;
    }

    @Override
    public boolean acquire(long wait) throws Exception {
      lease = wait < 0 ? semaphore.acquire() : semaphore.acquire(wait, TimeUnit.MILLISECONDS);
      return lease != null;
    }

    @Override
    public void release() throws Exception {
      lease.close();
    }

    @Override
    public Collection<String> nodes() throws Exception {
      return semaphore.getParticipantNodes();
    }
  }

  /** One wish, on a thread of its own: Curator's mutexes belong to threads. */
  private static final class Wish {
    final ExecutorService thread = Executors.newSingleThreadExecutor(Wish::daemon);
    final CountDownLatch asked = new CountDownLatch(1);
    Kind kind;
    Future<Boolean> granted;

    private static Thread daemon(Runnable work) {
      Thread thread = new Thread(work);
      thread.setDaemon(true);
      return thread;
    }

    <T> T inside(Callable<T> work) throws Exception {
      return thread.submit(work).get();
    }
  }

  private final String address;
  private final int timeout;
  private final CuratorFramework client;
  private final Map<String, Wish> wishes = new HashMap<>();

  private CuratorLock(int port, int timeout) throws Exception {
    this.address = "127.0.0.1:" + port;
    this.timeout = timeout;
    client = CuratorFrameworkFactory.newClient(address, timeout, timeout, new RetryNTimes(100, 50));
    client.start();
    client.blockUntilConnected();
  }

  private Kind make(String kind, String path, Wish wish) {
    switch (kind) {
      case "mutex":
        return new OfMutex(new InterProcessMutex(client, path));
      case "revocable":
        InterProcessMutex mutex = new InterProcessMutex(client, path);
        mutex.makeRevocable(any -> wish.asked.countDown());
        return new OfMutex(mutex);
      case "read":
        return new OfMutex(new InterProcessReadWriteLock(client, path).readLock());
      case "write":
        return new OfMutex(new InterProcessReadWriteLock(client, path).writeLock());
      default: // the number of permits
        return new OfSemaphore(new InterProcessSemaphoreV2(client, path, Integer.parseInt(kind)));
    }
  }

  private String begin(String name, String kind, String path, long wait) {
    Wish wish = new Wish();
    wish.kind = make(kind, path, wish);
    wish.granted = wish.thread.submit(() -> wish.kind.acquire(wait));
    wishes.put(name, wish);
    return "ok";
  }

  private static String outcome(Wish wish, long within) throws Exception {
    try {
      return wish.granted.get(within, TimeUnit.MILLISECONDS) ? "ok" : "no";
    } catch (TimeoutException e) {
      return "no news";
    }
  }

  private String release(String name) throws Exception {
    Wish wish = wishes.get(name);
    if (!wish.granted.isDone()) {
      return "no news";
    }
    wish.inside(
        () -> {
          wish.kind.release();
          return null;
        });
    wish.thread.shutdown();
    wishes.remove(name);
    return "ok";
  }

  /** Ends the session at the server: a second connection to it says goodbye in its name. Curator makes another one. */
  private String kill() throws Exception {
    ZooKeeper ours = client.getZookeeperClient().getZooKeeper();
    long before = ours.getSessionId();
    CountDownLatch connected = new CountDownLatch(1);
    Watcher watcher =
        event -> {
          if (event.getState() == Watcher.Event.KeeperState.SyncConnected) {
            connected.countDown();
          }
        };
    ZooKeeper twin = new ZooKeeper(address, timeout, watcher, before, ours.getSessionPasswd());
    connected.await(timeout, TimeUnit.MILLISECONDS);
    twin.close();
    for (int i = 0; i < 1000; i++) {
      try {
        client.checkExists().forPath("/");
        if (client.getZookeeperClient().getZooKeeper().getSessionId() != before) {
          return "ok";
        }
      } catch (KeeperException e) {
        // not connected yet
      }
      Thread.sleep(10);
    }
    return "no";
  }

  private static void bump(Path file) throws IOException, InterruptedException {
    long number = Long.parseLong(Files.readString(file).trim());
    Thread.sleep(1); // whoever else is inside now overwrites what we write, or we what he writes
    Files.writeString(file, Long.toString(number + 1));
  }

  private String visit(String kind, String path, Path file, int times) throws Exception {
    for (int i = 0; i < times; i++) {
      Kind lock = make(kind, path, new Wish());
      lock.acquire(-1);
      try {
        bump(file);
      } finally {
        lock.release();
      }
    }
    return "ok";
  }

  private String children(String path) throws Exception {
    try {
      List<String> names = client.getChildren().forPath(path);
      names.sort(null);
      return ok(String.join(" ", names));
    } catch (KeeperException.NoNodeException e) {
      return "ok"; // nobody has been there yet
    }
  }

  private String owner(String path) throws Exception {
    return "ok " + Long.toHexString(client.checkExists().forPath(path).getEphemeralOwner());
  }

  private String write(String path, String text) throws Exception {
    client.setData().forPath(path, text.getBytes(StandardCharsets.UTF_8));
    return "ok";
  }

  private String read(String path) throws Exception {
    return ok(new String(client.getData().forPath(path), StandardCharsets.UTF_8));
  }

  private static String ok(String text) {
    return text.isEmpty() ? "ok" : "ok " + text;
  }

  private String answer(Scanner words) throws Exception {
    String command = words.next();
    switch (command) {
      case "begin":
        return begin(words.next(), words.next(), words.next(), words.nextLong());
      case "wait":
        return outcome(wishes.get(words.next()), words.nextLong());
      case "release":
        return release(words.next());
      case "asked":
        return wishes.get(words.next()).asked.await(words.nextLong(), TimeUnit.MILLISECONDS) ? "ok" : "no";
      case "revoke":
        Revoker.attemptRevoke(client, words.next());
        return "ok";
      case "nodes":
        return ok(String.join(" ", wishes.get(words.next()).kind.nodes()));
      case "children":
        return children(words.next());
      case "write":
        return write(words.next(), words.next());
      case "read":
        return read(words.next());
      case "owner":
        return owner(words.next());
      case "delete":
        client.delete().forPath(words.next());
        return "ok";
      case "kill":
        return kill();
      case "visit":
        return visit(words.next(), words.next(), Path.of(words.next()), words.nextInt());
      default:
        return "no such command";
    }
  }

  private String answer(String line) {
    try {
      return answer(new Scanner(line));
    } catch (ExecutionException e) {
      return "no " + e.getCause().getClass().getSimpleName();
    } catch (Exception e) {
      return "no " + e.getClass().getSimpleName();
    }
  }

  public static void main(String[] args) throws Exception {
    CuratorLock peer = new CuratorLock(Integer.parseInt(args[0]), Integer.parseInt(args[1]));
    System.out.println("ready");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null && !line.equals("quit"); line = in.readLine()) {
      System.out.println(peer.answer(line));
    }
    Runtime.getRuntime().halt(0); // at once: what it still holds is left to its session
  }
}
