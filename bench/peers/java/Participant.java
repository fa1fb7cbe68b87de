import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/** A Java library as a participant: the line protocol of bench/README.md. Each thread is a waiter of its own. */
abstract class Participant {
  /** What one waiter uses, always in the same thread. */
  interface Lock {
    /** False: not before {@code until}. */
    boolean acquire(long until) throws Exception;

    void release() throws Exception;
  }

  private interface Part {
    void run(int index) throws Exception;
  }

  private final Map<String, Lock> held = new HashMap<>();

  /** Connects. */
  abstract void open(String url) throws Exception;

  abstract Lock lock(String name);

  /** Until standard input ends, or "quit". */
  final void serve() throws Exception {
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

  private String answer(String[] words) throws Exception {
    switch (words[0]) {
      case "open":
        held.clear();
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

  // On Linux, this is CLOCK_MONOTONIC.
  static long now() {
    return System.nanoTime();
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

  private String take(String name) throws Exception {
    Lock lock = held.computeIfAbsent(name, this::lock);
    if (!lock.acquire(now() + 10_000_000_000L)) throw new IllegalStateException("somebody else holds " + name);
    return String.valueOf(now());
  }

  private String give(String name) throws Exception {
    long released = now();
    held.get(name).release();
    return String.valueOf(released);
  }

  private String pairs(String name, long milliseconds) throws Exception {
    Lock lock = lock(name);
    long[] samples = new long[100_000];
    int count = 0;
    long end = now() + milliseconds * 1_000_000;
    for (long begin = now(); begin < end && count < samples.length;) {
      if (!lock.acquire(end + 1_000_000_000)) throw new IllegalStateException("somebody else holds " + name);
      lock.release();
      long done = now();
      samples[count++] = done - begin;
      begin = done;
    }
    Arrays.sort(samples, 0, count);
    return count + " " + samples[count / 2] + " " + samples[count * 99 / 100];
  }

  private String threads(String name, int count, long milliseconds) throws Exception {
    AtomicLong total = new AtomicLong();
    long begin = now();
    long end = begin + milliseconds * 1_000_000;
    inThreads(count, index -> {
      Lock lock = lock(name);
      long held = 0;
      for (; now() < end && lock.acquire(end); ++held) lock.release();
      total.addAndGet(held);
    });
    return total.get() + " " + (now() - begin);
  }

  private String contend(String name, int clients, long hold, long start, long end) throws Exception {
    String[] reports = new String[clients];
    inThreads(clients, index -> {
      Lock lock = lock(name);
      StringBuilder report = new StringBuilder();
      sleepUntil(start + index * 1_000_000L);
      for (long asked = now(); asked < end; asked = now()) {
        boolean acquired = lock.acquire(end);
        long since = now();
        if (!acquired) {
          report.append(' ').append(asked).append(",0,0");
          break;
        }
        if (hold > 0) sleepUntil(since + hold * 1000);
        long released = now();
        lock.release();
        report.append(' ').append(asked).append(',').append(since).append(',').append(released);
      }
      reports[index] = report.toString();
    });
    return String.join(" |", reports).trim();
  }
}
