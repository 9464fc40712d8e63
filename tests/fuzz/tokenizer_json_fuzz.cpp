// Any bytes as tokenizer.json: an Error that says what is wrong with the file, or a tokenizer that encodes
// any text and decodes any ids to UTF-8.
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/tokenizers/tokenizer.h"
#include "runtime/tokenizers/unicode/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt;
  try {
    const Tokenizer tokenizer = Tokenizer::from_json({reinterpret_cast<const char*>(data), size}, "fuzz");
    std::vector<int32_t> ids(40);
    std::iota(ids.begin(), ids.end(), -2);
    if (!is_utf8(tokenizer.decode(ids, false))) std::abort();
    constexpr std::string_view kText = " a\u0301b  AB's 12\n\n3\xFF \u00AD日本<s> [MASK]e\u0308\uFB01";
    const Encoding encoding = tokenizer.encode(kText);
    if (encoding.offsets.size() != encoding.size()) std::abort();
    if (!is_utf8(tokenizer.decode(encoding.ids))) std::abort();
    tokenizer.encode_pair(kText, "b a");
  } catch (const Error&) {
  }
  return 0;
}
