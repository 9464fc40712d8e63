// The table of smelt verify: quantities with their errors.
#pragma once

#include <span>
#include <string>

#include "compiler/cli/commands/verify.h"
#include "compiler/cli/shared/text_table.h"

namespace smelt::cli {

/// Returns the norm of the elements as one vector, in double.
double norm(std::span<const float> values);
/// The norm of the difference; both have the same number of elements.
double distance(std::span<const float> a, std::span<const float> b);

/// NaN is never within a bound.
class VerifyReport {
 public:
  void add(const std::string& what, double error, double bound);
  /// The distance from the reference relative to its norm, or, of a reference of zeros, itself.
  void add_tensor(const std::string& what, std::span<const float> value, std::span<const float> reference,
                  double bound);
  void add_exact(const std::string& what, const std::string& found, bool good);
  /// Adds a row for people; it has no bound.
  void add_note(const std::string& what, const std::string& found);

  Verified result() const { return {passed_ + failed_, failed_, table_.text()}; }

 private:
  void add_row(const std::string& what, std::string error, std::string bound, bool good);

  TextTable table_{{"quantity", "error", "bound", ""}};
  int passed_ = 0, failed_ = 0;
};

}  // namespace smelt::cli
