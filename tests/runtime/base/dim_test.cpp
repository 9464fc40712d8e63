#include "runtime/base/dim.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "runtime/base/error.h"

namespace smelt {
namespace {

const Dim B = Dim::symbol("B"), T = Dim::symbol("T"), S = Dim::symbol("S");

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Dim random_dim(std::mt19937& random, int depth) {
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  if (depth == 0) {
    const Dim leaves[] = {B, T, S, Dim(below(7)), Dim(1)};
    return leaves[below(5)];
  }
  const Dim a = random_dim(random, depth - 1), b = random_dim(random, depth - 1);
  switch (below(4)) {
    case 0:
      return a + b;
    case 1:
      return a * b;
    case 2:
      return ceil_div(a, 1 + below(70));
    default:
      return a + b * 3;
  }
}

TEST(Dim, IsCanonical) {
  EXPECT_EQ(B * T + T * B, T * B * 2);
  EXPECT_EQ((B + T) * (B - T), B * B - T * T);
  EXPECT_TRUE((B * T - T * B).is_zero());
  EXPECT_EQ((B - B + 5).constant(), 5);
  EXPECT_NE(B * T, B + T);
  EXPECT_EQ(element_count({B, T, 768}), B * T * 768);
}

TEST(Dim, HasCoordinatesOfRanks) {
  const Dim place = Dim::symbol("data.rank");
  EXPECT_EQ(Dim::parse("data.rank*128 + 2"), place * 128 + 2);
  EXPECT_EQ(Dim::parse((place * 128 + 2).str()), place * 128 + 2);
  EXPECT_THROW(Dim::parse("data."), Error);
  EXPECT_THROW(Dim::parse("data.2"), Error);
}

TEST(Dim, SimplifiesCeilDiv) {
  EXPECT_EQ(ceil_div(Dim(65), 64), Dim(2));
  EXPECT_EQ(ceil_div(B * 128, 64), B * 2);
  EXPECT_EQ(ceil_div(B * 64 + T, 64), B + ceil_div(T, 64));
  EXPECT_EQ(ceil_div(T * 32, 64), ceil_div(T, 2));
  EXPECT_EQ(ceil_div(ceil_div(T, 4), 8), ceil_div(T, 32));
  EXPECT_EQ(round_up(round_up(T, 64), 64), round_up(T, 64));
  EXPECT_EQ(ceil_div(T, 1), T);
  EXPECT_EQ(ceil_div(Dim(-5), 2), Dim(-2));
  EXPECT_THROW(ceil_div(T, 0), Error);
}

TEST(Dim, FloorDivIsCanonical) {
  EXPECT_EQ(floor_div(Dim(7), 2), Dim(3));
  EXPECT_EQ(floor_div(Dim(-7), 2), Dim(-4));
  EXPECT_EQ(floor_div(T - 10, 5) + 1, floor_div(T - 5, 5));
  EXPECT_EQ(ceil_div(T - 14, 5) + 1, ceil_div(T - 9, 5));
  EXPECT_EQ(ceil_div(T + 7, 5), ceil_div(T + 2, 5) + 1);
  EXPECT_EQ(ceil_div(ceil_div(T, 5) + 1, 2), ceil_div(T + 5, 10));
  EXPECT_EQ(Dim::parse("floor_div(T - 10, 5) + 1"), floor_div(T - 5, 5));
}

TEST(Dim, LengthsOfConvolutionsStaySmall) {
  Dim length = T;
  int64_t expected = 16000;
  for (const auto& [size, step] : {std::pair(10, 5), {3, 2}, {3, 2}, {3, 2}, {3, 2}, {2, 2}, {2, 2}}) {
    length = floor_div(length - size, step) + 1;
    expected = (expected - size) / step + 1;
  }
  EXPECT_EQ(length.str(), "ceil_div(T - 79, 320) - 1");
  EXPECT_EQ(length.evaluate({{"T", 16000}}), expected);
}

TEST(Dim, PrintsAndParsesBack) {
  const Dim dim = B * T + ceil_div(T, 64) * 2 - 3;
  EXPECT_EQ(dim.str(), "B*T + 2*ceil_div(T, 64) - 3");
  EXPECT_EQ(str(Shape{B, T, 768}), "[B,T,768]");
  EXPECT_EQ(Dim(0).str(), "0");
  EXPECT_EQ((Dim(0) - B).str(), "-B");
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const Dim any = random_dim(random, 3);
    EXPECT_EQ(Dim::parse(any.str()), any) << any.str();
  }
}

TEST(Dim, ParseSaysWhereItFails) {
  EXPECT_EQ(message([] { Dim::parse("B*"); }),
            "the size \"B*\", position 3: expected a number, a symbol, '-' or '('");
  EXPECT_EQ(message([] { Dim::parse("B T"); }),
            "the size \"B T\", position 3: expected '+', '-', '*' or the end");
  EXPECT_EQ(message([] { Dim::parse("ceil_div(T, 0)"); }),
            "the size \"ceil_div(T, 0)\", position 14: expected a number above 0");
  EXPECT_THROW(Dim::parse("9223372036854775808"), Error);
  EXPECT_THROW(Dim::parse("9223372036854775807 * 2"), Error);
  EXPECT_THROW(Dim::parse(std::string(100000, '(')), Error);
  EXPECT_THROW(Dim::parse(std::string(100000, '-')), Error);
  EXPECT_THROW(Dim::parse("T*T*T*T*T*T*T*T*T*T*T*T*T*T*T*T*T*T"), Error);
  EXPECT_THROW(Dim::parse(""), Error);
}

TEST(Dim, EvaluatesLikeItsExpression) {
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) {
    const Dim a = random_dim(random, 2), b = random_dim(random, 2);
    const SymbolValues values = {{"B", 1 + random() % 40}, {"T", 1 + random() % 99}, {"S", 1 + random() % 7}};
    const int64_t x = a.evaluate(values), y = b.evaluate(values), d = 1 + random() % 33;
    EXPECT_EQ((a + b).evaluate(values), x + y);
    EXPECT_EQ((a - b).evaluate(values), x - y);
    EXPECT_EQ((a * b).evaluate(values), x * y);
    EXPECT_EQ(ceil_div(a, d).evaluate(values), (x + d - 1) / d) << a.str() << " by " << d;
    EXPECT_EQ(floor_div(a, d).evaluate(values), x / d) << a.str() << " by " << d;
    EXPECT_EQ(ceil_div(a - 40, d).evaluate(values), x < 40 ? -((40 - x) / d) : (x - 40 + d - 1) / d);
  }
}

TEST(Dim, DivisionsOfNegatedSizesAreNegated) {
  EXPECT_EQ(floor_div(Dim(0) - T, 4), Dim(0) - ceil_div(T, 4));
  EXPECT_EQ(ceil_div(Dim(0) - T, 4), Dim(0) - floor_div(T, 4));
  const Dim rounded_up = T + (Dim(0) - T - floor_div(Dim(0) - T, 4) * 4);  // T + (-T) % 4
  EXPECT_EQ(rounded_up, round_up(T, 4));
  Symbols symbols;
  symbols.bound({"T"}, 30);
  EXPECT_EQ(symbols.upper(rounded_up), 32);
}

TEST(Dim, EvaluateRefusesOverflowAndUnknownSymbols) {
  EXPECT_EQ(message([] { (B * T).evaluate({{"B", 2}}); }), "the size B*T needs a value for the symbol T");
  EXPECT_THROW((B * B * B).evaluate({{"B", int64_t{1} << 40}}), Error);
}

TEST(Dim, DividesExactlyOrNotAtAll) {
  EXPECT_EQ((B * T * 768).divide(768), B * T);
  EXPECT_EQ((B * T * 768).divide(T), B * 768);
  EXPECT_EQ((B * B - T * T).divide(B - T), B + T);
  EXPECT_EQ((B * T + 1).divide(T), std::nullopt);
  EXPECT_EQ((B * 3).divide(2), std::nullopt);
  EXPECT_EQ(B.divide(0), std::nullopt);
  EXPECT_EQ(Dim(0).divide(T), Dim(0));
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    const Dim a = random_dim(random, 2), b = random_dim(random, 2);
    if (b.is_zero()) continue;
    EXPECT_EQ((a * b).divide(b), a) << a.str() << " by " << b.str();
  }
}

TEST(Dim, CollectsSymbolsOnce) {
  std::vector<std::string> names;
  (B * T + ceil_div(S * T + 1, 64)).collect_symbols(names);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"B", "S", "T"}));
}

Symbols example_symbols() {
  Symbols symbols;
  symbols.bound({"B"}, 64);
  symbols.bound({"T"}, 256);
  symbols.bound({"T", "B"}, 4096);
  return symbols;
}

TEST(Symbols, UpperUsesProductBounds) {
  const Symbols symbols = example_symbols();
  EXPECT_EQ(symbols.upper(B * T), 4096);
  EXPECT_EQ(symbols.upper(B * T * T), 4096 * 256);
  EXPECT_EQ(symbols.upper(B * B * T * T), 4096 * 4096);
  EXPECT_EQ(symbols.upper(B * 3 + 5), 197);
  EXPECT_EQ(symbols.upper(T - B), 255);
  EXPECT_EQ(symbols.upper(ceil_div(T, 100)), 3);
  EXPECT_EQ(symbols.upper(B * ceil_div(T, 64)), (4096 + 63 * 64) / 64);
  // What is left of a division: B*T rows less three quarters of them, rounded down to eights.
  EXPECT_EQ(symbols.upper(B * T - 24 * ceil_div(B * T - 31, 32)), (4096 + 3 * 31) / 4);
  EXPECT_EQ(symbols.upper(B * T * 7 - B * 7 * ceil_div(T, 2)), (7 * 4096) / 2);
  EXPECT_EQ(symbols.names(), (std::vector<std::string>{"B", "T"}));
}

TEST(Symbols, UpperIsNeverBelowAValue) {
  const Symbols symbols = example_symbols();
  std::mt19937 random(5);
  for (int i = 0; i < 500; ++i) {
    const Dim dim = random_dim(random, 3) - random_dim(random, 1);
    std::vector<std::string> names;
    dim.collect_symbols(names);
    if (std::find(names.begin(), names.end(), "S") != names.end()) continue;
    const int64_t upper = symbols.upper(dim);
    for (int j = 0; j < 50; ++j) {
      const int64_t b = 1 + random() % 64, t = 1 + random() % std::min<int64_t>(256, 4096 / b);
      EXPECT_LE(dim.evaluate({{"B", b}, {"T", t}}), upper) << dim.str() << " at B=" << b << " T=" << t;
    }
  }
}

TEST(Symbols, HaveLeastValues) {
  Symbols symbols = example_symbols();
  symbols.bound({"T"}, 256, 16);
  EXPECT_EQ(symbols.lower("T"), 16);
  EXPECT_EQ(symbols.lower("B"), 1);
  EXPECT_EQ(symbols.upper(B * 10 - T), 640 - 16);
  EXPECT_EQ(message([&] { symbols.check({{"B", 1}, {"T", 15}}); }),
            "T = 15: expected at least 16, the bound that the plan was compiled for");
  EXPECT_EQ(message([&] { symbols.bound({"T"}, 15, 16); }), "the bound T <= 15: expected at least 16");
  EXPECT_EQ(message([&] { symbols.bound({"B", "T"}, 4096, 2); }),
            "B*T is at least 2: expected 1, or from 0 on for one symbol");
  EXPECT_EQ(message([&] { symbols.bound({"B"}, 1000, 300); }),
            "the bound B*T <= 4096: expected at least 4800, the product of the symbols' least values");
}

TEST(Symbols, NamesWhatIsUnboundedOrTooLarge) {
  Symbols symbols = example_symbols();
  EXPECT_NE(message([&] { symbols.upper(B * S); }).find("symbol S"), std::string::npos);
  EXPECT_EQ(message([&] { symbols.check({{"B", 65}, {"T", 1}}); }),
            "B = 65: expected at most 64, the bound that the plan was compiled for");
  EXPECT_EQ(message([&] { symbols.check({{"B", 64}, {"T", 65}}); }),
            "B*T = 4160: expected at most 4096, the bound that the plan was compiled for");
  EXPECT_EQ(message([&] { symbols.check({{"B", 1}}); }), "the symbol T has no value: expected one");
  EXPECT_EQ(message([&] { symbols.check({{"B", 0}, {"T", 1}}); }), "B = 0: expected at least 1");
  EXPECT_EQ(message([&] { symbols.check({{"B", 1}, {"T", 1}, {"X", 1}}); }),
            "a value is given for X: expected one of the symbols B, T");
  symbols.bound({"S"}, int64_t{1} << 62);
  EXPECT_THROW(symbols.upper(S * 2), Error);
  EXPECT_NO_THROW(example_symbols().check({{"B", 64}, {"T", 64}}));
}

}  // namespace
}  // namespace smelt
