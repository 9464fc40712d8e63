#include "runtime/structured/string_formats.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "runtime/base/error.h"

namespace smelt::structured {
namespace {

std::string date() {
  const std::string leap_year =
      "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
  return "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
         "|02-(?:0[1-9]|1[0-9]|2[0-8]))|" +
         leap_year + "-02-29)";
}

std::string time() {
  const std::string hour = "(?:[01][0-9]|2[0-3])";
  return hour + ":[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?(?:[Zz]|[+-]" + hour + ":[0-5][0-9])";
}

std::string duration() {
  const std::string time = "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)";
  const std::string date = "(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)";
  return fmt::format("P(?:[0-9]+W|{}(?:{})?|{})", date, time, time);
}

std::string ipv4() {
  const std::string byte = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  return fmt::format("{0}(?:\\.{0}){{3}}", byte);
}

/// Eight groups, of which the last two may be an IPv4 address; one run of groups may be "::".
std::string ipv6() {
  const std::string group = "[0-9A-Fa-f]{1,4}", last = fmt::format("(?:{0}:{0}|{1})", group, ipv4());
  std::string all = fmt::format("(?:{}:){{6}}{}", group, last);
  for (int before = 0; before <= 7; ++before) {
    const std::string left = before == 0 ? "" : fmt::format("{0}(?::{0}){{{1}}}", group, before - 1);
    const int after = 7 - before;  // groups after "::", at most
    all += fmt::format("|{}::", left);
    if (after >= 1) all += fmt::format("(?:{0}(?::{0}){{0,{1}}})?", group, after - 1);
    if (after >= 2) all += fmt::format("|{}::(?:{}:){{0,{}}}{}", left, group, after - 2, ipv4());
  }
  return "(?:" + all + ")";
}

std::string label(int longest) {
  return fmt::format("[A-Za-z0-9](?:[A-Za-z0-9-]{{0,{}}}[A-Za-z0-9])?", longest - 2);
}

std::string hostname() {
  return fmt::format("(?:{0}(?:\\.{0}){{0,2}}|{1}(?:\\.{1}){{0,7}})", label(63), label(30));
}

std::string email() {
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
  return fmt::format("{0}(?:\\.{0})*@{1}", atom, hostname());
}

constexpr std::string_view kPathCharacter = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";

/// The part of a URI after its scheme.
std::string hierarchy(std::string_view first_segment) {
  const std::string user = "(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?";
  const std::string host = "(?:(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*|\\[" + ipv6() + "\\])";
  const std::string segments = fmt::format("(?:/{}*)*", kPathCharacter);
  return fmt::format(
      "(?://{0}{1}(?::[0-9]*)?{2}|/(?:{3}+{2})?|{4}+{2})?(?:\\?(?:{3}|[/?])*)?(?:#(?:{3}|[/?])*)?", user,
      host, segments, kPathCharacter, first_segment);
}

std::string uri() { return "[A-Za-z][A-Za-z0-9+.-]*:" + hierarchy(kPathCharacter); }
std::string uri_reference() {
  return fmt::format("(?:{}|{})", uri(), hierarchy("(?:[A-Za-z0-9._~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})"));
}

using Format = std::pair<std::string_view, std::string (*)()>;
constexpr Format kFormats[] = {
    {"date", date},
    {"time", time},
    {"date-time", [] { return date() + "[Tt]" + time(); }},
    {"duration", duration},
    {"uuid", [] { return std::string("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"); }},
    {"ipv4", ipv4},
    {"ipv6", ipv6},
    {"hostname", hostname},
    {"email", email},
    {"uri", uri},
    {"uri-reference", uri_reference},
    {"json-pointer", [] { return std::string("(?:/(?:[^~/]|~[01])*)*"); }},
};

}  // namespace

std::string format_expression(std::string_view name) {
  std::string names;
  for (const Format& format : kFormats) {
    if (format.first == name) return format.second();
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format.first);
  }
  fail("JSON Schema: the format '{}' is not supported; expected one of {}", name, names);
}

}  // namespace smelt::structured
