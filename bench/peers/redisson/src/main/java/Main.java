import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson's RLock as a participant: see bench/README.md. One RedissonClient per process with its default settings; each
 * thread is a waiter of its own.
 */
public final class Main {
  private static RedissonClient client;

  private interface Part {
    void run(int index) throws Exception;
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null && !line.equals("quit"); line = in.readLine()) {
      String answer;
      try {
        String words = answer(line.split(" "));
        answer = words.isEmpty() ? "ok" : "ok " + words;
      } catch (Exception error) {
        answer = "error " + String.valueOf(error).replace('\n', ' ');
      }
      System.out.println(answer);
      System.out.flush();
    }
    System.exit(0);
  }

  private static String answer(String[] words) throws Exception {
    switch (words[0]) {
      case "open":
        open(words[1]);
        return "";
      case "prepare":
        return "";
      case "take":
        return take(words[1]);
      case "give":
        return give(words[1]);
      case "pairs":
        return pairs(words[1], Long.parseLong(words[2]));
      case "threads":
        return threads(words[1], Integer.parseInt(words[2]), Long.parseLong(words[3]));
      case "contend":
        return contend(words[1], Integer.parseInt(words[2]), Long.parseLong(words[3]), Long.parseLong(words[4]),
            Long.parseLong(words[5]));
      default:
        throw new IllegalArgumentException("no such request: " + words[0]);
    }
  }

  private static void open(String url) {
    if (client != null) client.shutdown();
    Config config = new Config();
    config.useSingleServer().setAddress(url);
    client = Redisson.create(config);
  }

  // On Linux, this is CLOCK_MONOTONIC.
  private static long now() {
    return System.nanoTime();
  }

  private static boolean acquire(RLock lock, long until) throws InterruptedException {
    long left = until - now();
    return left > 0 && lock.tryLock(left, TimeUnit.NANOSECONDS);
  }

  private static void sleepUntil(long at) {
    for (long left = at - now(); left > 0; left = at - now()) LockSupport.parkNanos(left);
  }

  private static void inThreads(int count, Part part) throws Exception {
    AtomicReference<Exception> first = new AtomicReference<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < count; ++i) {
      int index = i;
      threads.add(new Thread(() -> {
        try {
          part.run(index);
        } catch (Exception error) {
          first.compareAndSet(null, error);
        }
      }));
    }
    for (Thread thread : threads) thread.start();
    for (Thread thread : threads) thread.join();
    if (first.get() != null) throw first.get();
  }

  private static String take(String name) throws Exception {
    boolean acquired = acquire(client.getLock(name), now() + 10_000_000_000L);
    if (!acquired) throw new IllegalStateException("somebody else holds " + name);
    return String.valueOf(now());
  }

  private static String give(String name) {
    long released = now();
    client.getLock(name).unlock();
    return String.valueOf(released);
  }

  private static String pairs(String name, long milliseconds) throws Exception {
    RLock lock = client.getLock(name);
    long[] samples = new long[100_000];
    int count = 0;
    long end = now() + milliseconds * 1_000_000;
    for (long begin = now(); begin < end && count < samples.length;) {
      if (!acquire(lock, end + 1_000_000_000)) throw new IllegalStateException("somebody else holds " + name);
      lock.unlock();
      long done = now();
      samples[count++] = done - begin;
      begin = done;
    }
    Arrays.sort(samples, 0, count);
    return count + " " + samples[count / 2] + " " + samples[count * 99 / 100];
  }

  private static String threads(String name, int count, long milliseconds) throws Exception {
    AtomicLong total = new AtomicLong();
    long begin = now();
    long end = begin + milliseconds * 1_000_000;
    inThreads(count, index -> {
      RLock lock = client.getLock(name);
      long held = 0;
      for (; now() < end && acquire(lock, end); ++held) lock.unlock();
      total.addAndGet(held);
    });
    return total.get() + " " + (now() - begin);
  }

  private static String contend(String name, int clients, long hold, long start, long end) throws Exception {
    String[] reports = new String[clients];
    inThreads(clients, index -> {
      RLock lock = client.getLock(name);
      StringBuilder report = new StringBuilder();
      sleepUntil(start + index * 1_000_000L);
      for (long asked = now(); asked < end; asked = now()) {
        boolean acquired = acquire(lock, end);
        long since = now();
        if (!acquired) {
          report.append(' ').append(asked).append(",0,0");
          break;
        }
        if (hold > 0) sleepUntil(since + hold * 1000);
        long released = now();
        lock.unlock();
        report.append(' ').append(asked).append(',').append(since).append(',').append(released);
      }
      reports[index] = report.toString();
    });
    return String.join(" |", reports).trim();
  }
}
