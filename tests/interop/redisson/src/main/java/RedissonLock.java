import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Scanner;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson's RLock behind the line protocol of tests/interop/peer.hpp. All commands run on one thread, so they share its
 * locks. Arguments: the server's port on the loopback address, and the watchdog's lease in milliseconds.
 */
public final class RedissonLock {
  private final RedissonClient redisson;

  private RedissonLock(int port, long watchdog) {
    Config config = new Config();
    config.setLockWatchdogTimeout(watchdog);
    config.setThreads(2).setNettyThreads(2);
    config.useSingleServer()
        .setAddress("redis://127.0.0.1:" + port)
        .setConnectionMinimumIdleSize(1)
        .setConnectionPoolSize(2)
        .setSubscriptionConnectionMinimumIdleSize(1);
    redisson = Redisson.create(config);
  }

  private boolean acquire(RLock lock, long lease, long wait) throws InterruptedException {
    if (wait < 0) {
      lock.lock(lease, TimeUnit.MILLISECONDS);
      return true;
    }
    return lock.tryLock(wait, lease, TimeUnit.MILLISECONDS);
  }

  private static void bump(Path file) throws IOException, InterruptedException {
    long number = Long.parseLong(Files.readString(file).trim());
    Thread.sleep(1); // whoever else is inside now overwrites what we write, or we what he writes
    Files.writeString(file, Long.toString(number + 1));
  }

  private void visit(RLock lock, Path file, int times) throws IOException, InterruptedException {
    for (int i = 0; i < times; i++) {
      lock.lock();
      try {
        bump(file);
      } finally {
        lock.unlock();
      }
    }
  }

  private String answer(Scanner words) throws IOException, InterruptedException {
    String command = words.next();
    if (command.equals("bump")) {
      bump(Path.of(words.next()));
      return "ok";
    }
    RLock lock = redisson.getLock(words.next());
    switch (command) {
      case "acquire":
        return acquire(lock, words.nextLong(), words.nextLong()) ? "ok" : "no";
      case "release":
        lock.unlock();
        return "ok";
      case "owned":
        return "ok " + lock.isHeldByCurrentThread();
      case "locked":
        return "ok " + lock.isLocked();
      case "holds":
        return "ok " + lock.getHoldCount();
      case "ttl":
        return "ok " + lock.remainTimeToLive();
      case "visit":
        visit(lock, Path.of(words.next()), words.nextInt());
        return "ok";
      default:
        return "no such command";
    }
  }

  private String answer(String line) {
    try {
      return answer(new Scanner(line));
    } catch (Exception e) {
      return "no " + e.getClass().getSimpleName();
    }
  }

  public static void main(String[] args) throws IOException {
    RedissonLock peer = new RedissonLock(Integer.parseInt(args[0]), Long.parseLong(args[1]));
    System.out.println("ready");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null && !line.equals("quit"); line = in.readLine()) {
      System.out.println(peer.answer(line));
    }
    System.exit(0); // at once: what it still holds is left to its lease
  }
}
