#include <pawl/error.hpp>
#include <pawl/result.hpp>

#include <gtest/gtest.h>

#include <any>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace pawl {
namespace {

constexpr Errc all_codes[] = {Errc::busy,
                              Errc::timed_out,
                              Errc::cancelled,
                              Errc::lost,
                              Errc::overtaken,
                              Errc::outcome_unknown,
                              Errc::store_unavailable,
                              Errc::overloaded,
                              Errc::closed,
                              Errc::not_owner,
                              Errc::would_deadlock,
                              Errc::unsupported,
                              Errc::invalid_argument,
                              Errc::permission_denied,
                              Errc::other_store};

TEST(ErrcNames, EveryCodeHasAnotherName) {
  std::set<std::string_view> names;
  for (const Errc code : all_codes) names.insert(to_string(code));
  EXPECT_EQ(names.size(), std::size(all_codes));
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_TRUE(names.contains("timed_out"));
}

TEST(ErrcNames, ANumberThatIsNoCodeIsUnknown) {
  EXPECT_EQ(to_string(Errc{}), "unknown");
  EXPECT_EQ(to_string(static_cast<Errc>(99)), "unknown");
}

TEST(ErrorCategory, BelongsToPawl) {
  const std::error_code code = Errc::busy;
  EXPECT_STREQ(code.category().name(), "pawl");
  EXPECT_EQ(code.message(), "busy");
  EXPECT_EQ(code, Errc::busy);
  EXPECT_NE(code, Errc::lost);
}

TEST(ErrorCategory, EqualsTheStandardsConditions) {
  EXPECT_EQ(make_error_code(Errc::would_deadlock), std::errc::resource_deadlock_would_occur);
  EXPECT_EQ(make_error_code(Errc::timed_out), std::errc::timed_out);
  EXPECT_EQ(make_error_code(Errc::not_owner), std::errc::operation_not_permitted);
  EXPECT_NE(make_error_code(Errc::lost), std::errc::operation_not_permitted);
}

TEST(ErrorText, IsTheCodeAndTheSentence) {
  EXPECT_EQ((Error{Errc::busy, "alice holds it"}).to_string(), "busy: alice holds it");
  EXPECT_EQ((Error{Errc::busy, ""}).to_string(), "busy");
}

TEST(ExceptionTest, SaysWhatTheErrorSays) {
  const Exception thrown(Error{Errc::timed_out, "lock \"a\" was not granted within 2s"});
  EXPECT_STREQ(thrown.what(), "timed_out: lock \"a\" was not granted within 2s");
  EXPECT_EQ(thrown.errc(), Errc::timed_out);
  EXPECT_EQ(thrown.code(), std::errc::timed_out);
  static_assert(std::is_nothrow_copy_constructible_v<Exception>);
}

TEST(ExceptionTest, IsCaughtAsSystemError) {
  try {
    throw Exception(Error{Errc::lost, "gone"});
  } catch (const std::system_error& caught) {
    EXPECT_STREQ(caught.what(), "lost: gone");
  }
}

Result<int> number(bool good) {
  if (good) return 7;
  return {Errc::busy, "no"};
}

TEST(ResultTest, IsTrueOnlyWithAValue) {
  if (auto result = number(true)) {
    EXPECT_EQ(*result, 7);
  } else {
    FAIL();
  }
  if (auto result = number(false)) FAIL();
}

TEST(ResultTest, ValueThrowsTheErrorAsException) {
  EXPECT_EQ(number(true).value(), 7);
  try {
    (void)number(false).value();
    FAIL();
  } catch (const Exception& caught) {
    EXPECT_EQ(caught.errc(), Errc::busy);
    EXPECT_STREQ(caught.what(), "busy: no");
  }
}

TEST(ResultTest, CodeIsZeroWithAValue) {
  EXPECT_EQ(number(true).code(), Errc{});
  EXPECT_EQ(number(false).code(), Errc::busy);
}

TEST(ResultTest, ErrorsTravelBetweenTypes) {
  const auto text = []() -> Result<std::string> {
    if (auto n = number(false); !n) return n.error();
    return "fine";
  }();
  EXPECT_EQ(text.code(), Errc::busy);
  EXPECT_EQ(text.error().message, "no");
}

TEST(ResultTest, VoidHoldsNothingButTheError) {
  Result<void> fine;
  EXPECT_TRUE(fine);
  EXPECT_NO_THROW(fine.value());
  const Result<void> bad{Errc::lost, "gone"};
  EXPECT_FALSE(bad);
  EXPECT_THROW(bad.value(), Exception);
  fine = bad;
  EXPECT_EQ(fine.code(), Errc::lost);
}

TEST(ResultTest, MoveOnlyValuesMoveOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
  static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);
  static_assert(std::is_nothrow_move_constructible_v<Result<std::unique_ptr<int>>>);
}

TEST(ResultTest, ValueCanBeChangedInPlace) {
  Result<std::vector<int>> result = {};
  result.value().push_back(1);
  EXPECT_EQ(result->size(), 1U);
}

TEST(ResultTest, ConvertsWhereItsValueDoes) {
  const Result<long> wide = number(true);
  EXPECT_EQ(*wide, 7);
  const Result<long> error = number(false);
  EXPECT_EQ(error.code(), Errc::busy);
  static_assert(!std::is_convertible_v<Result<int>, Result<std::string>>);
}

TEST(ResultTest, MapGivesAResultBack) {
  const Result<std::string> text = number(true).map([](int n) { return std::to_string(n); });
  EXPECT_EQ(*text, "7");
  const Result<std::string> error = number(false).map([](int n) { return std::to_string(n); });
  EXPECT_EQ(error.error().message, "no");
}

TEST(ResultTest, TextIsAValueAndATextWithACodeIsAnError) {
  const Result<std::string> value = "text";
  EXPECT_EQ(*value, "text");
  const Result<std::string> error = {Errc::busy, "text"};
  EXPECT_FALSE(error);
}

TEST(ResultOfBool, FalseIsAnAnswer) {
  Result<bool> answer = false;
  EXPECT_TRUE(answer.has_value());
  EXPECT_FALSE(*answer);
}

// NOLINTBEGIN(performance-unnecessary-copy-initialization): the copies are what is tested
TEST(ResultOfBool, CopiesKeepTheAnswer) {
  Result<bool> answer = false;
  Result<bool> copy(answer);
  Result<bool> moved(std::move(copy));
  const Result<bool> constant = answer;
  const Result<bool> again(constant);
  EXPECT_FALSE(*moved);
  EXPECT_FALSE(*constant);
  EXPECT_FALSE(*again);
  Result<bool> bad{Errc::busy, "no"};
  Result<bool> copy_of_bad(bad);
  EXPECT_EQ(copy_of_bad.code(), Errc::busy);
}
// NOLINTEND(performance-unnecessary-copy-initialization)

TEST(ResultOfBool, DoesNotComeFromAnotherResult) {
  static_assert(!std::is_constructible_v<Result<bool>, Result<int>>);
  static_assert(!std::is_constructible_v<Result<bool>, Result<int>&>);
  static_assert(!std::is_constructible_v<Result<bool>, Result<void>>);
  static_assert(std::is_constructible_v<Result<bool>, bool>);
}

struct MadeFromError {
  MadeFromError(const Error&) {}
};

TEST(ResultTest, AnErrorIsAnErrorEvenIfTheValueCouldBeMadeOfIt) {
  const Error error{Errc::busy, "no"};
  EXPECT_FALSE(Result<MadeFromError>(error));
  EXPECT_FALSE(Result<MadeFromError>(Error{Errc::busy, "no"}));
  EXPECT_FALSE(Result<std::any>(error));
}

}  // namespace
}  // namespace pawl
