// Gives every file of a corpus to its target, once, so that a finding that was fixed stays fixed.
//
// usage: pawl_fuzz_replay CORPUS_FOLDER
//
// Also refuses a target without a corpus, a corpus without a target, and any single allocation above 16 MiB: a parser must
// not believe a length before the bytes are there.

#include "tests/fuzz/fuzz.hpp"

#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_allocation = std::size_t{16} << 20;

// The input that is being played, for the signal handler.
char current[4096] = "none";

void name_input(int signal) {
  [[maybe_unused]] ssize_t done = ::write(2, "failed on ", 10);
  done = ::write(2, current, std::strlen(current));
  done = ::write(2, "\n", 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> sorted_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

bool replay(const pawl::fuzz::Named& named, const fs::path& folder) {
  const std::vector<fs::path> files = sorted_files(folder);
  for (const fs::path& file : files) {
    std::snprintf(current, sizeof current, "%s", file.c_str());
    named.target(content_of(file));
  }
  named.target({});
  std::printf("%-20s %3zu inputs\n", std::string(named.name).c_str(), files.size());
  return !files.empty();
}

bool every_corpus_has_a_target(const fs::path& corpus) {
  const auto& targets = pawl::fuzz::targets();
  return std::ranges::all_of(sorted_files(corpus), [&](const fs::path& folder) {
    const bool known = std::ranges::any_of(targets, [&](const auto& named) { return folder.filename() == named.name; });
    if (!known) std::fprintf(stderr, "%s: no fuzzer has this name\n", folder.c_str());
    return known;
  });
}

}  // namespace

// TSan has operators of its own, and does not link with others.
#if defined(__has_feature)
#define PAWL_FUZZ_UNDER_TSAN __has_feature(thread_sanitizer)
#else
#define PAWL_FUZZ_UNDER_TSAN 0
#endif
#if !PAWL_FUZZ_UNDER_TSAN
// NOLINTBEGIN(misc-new-delete-overloads)
void* operator new(std::size_t size) {
  if (size > largest_allocation) {
    std::fprintf(stderr, "pawl fuzz: broken: no single allocation above 16 MiB (%zu bytes)\n", size);
    std::abort();
  }
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
// NOLINTEND(misc-new-delete-overloads)
#endif

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
    return 2;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS}) std::signal(signal, name_input);
  const fs::path corpus = argv[1];
  bool good = every_corpus_has_a_target(corpus) && !pawl::fuzz::targets().empty();
  for (const auto& named : pawl::fuzz::targets()) {
    if (replay(named, corpus / named.name)) continue;
    std::fprintf(stderr, "%s: no corpus\n", std::string(named.name).c_str());
    good = false;
  }
  return good ? 0 : 1;
}
