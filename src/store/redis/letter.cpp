#include "store/redis/letter.hpp"

#include "store/redis/answers.hpp"
#include "store/redis/script.hpp"

#include <algorithm>
#include <vector>

namespace pawl::store::redis {

namespace {

constexpr std::size_t seal_size = 40;

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::optional<Notice> notice_of(const std::vector<std::string_view>& words, bool believes) {
  if (words.size() < 2) return std::nullopt;
  Notice notice;
  if (words[1] == "contended") notice.what = Notice::What::contended;
  if (words[1] == "asked") notice.what = Notice::What::release_requested;
  if (words[1] == "gone") notice.what = Notice::What::gone;
  if (words[1] == "granted" && words.size() == 5 && believes) {
    notice.what = Notice::What::granted;
    notice.grant.token = Token(whole(words[2]), whole(words[3]));
    notice.grant.contended = words[4] == "1";
  }
  return notice;
}

}  // namespace

std::string sealed(std::string_view text, std::string_view secret) {
  std::string covered(secret);
  covered.append(text).append(secret);
  return sha1_of(covered).append(" ").append(text);
}

std::optional<Letter> Letter::read(std::string_view text, std::string_view secret, bool believes) {
  if (text.size() <= seal_size) return std::nullopt;
  const std::string_view said = text.substr(seal_size + 1);
  if (text != sealed(said, secret)) return std::nullopt;
  const std::vector<std::string_view> words = split(said);
  Letter letter;
  if (!base::parse_hex(words[0], letter.claim.high, letter.claim.low)) return std::nullopt;
  const std::optional<Notice> notice = notice_of(words, believes);
  if (!notice) return std::nullopt;
  letter.notice = *notice;
  return letter;
}

}  // namespace pawl::store::redis
