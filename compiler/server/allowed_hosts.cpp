#include "compiler/server/allowed_hosts.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "runtime/engine/serving/api_error.h"

namespace smelt::server {
namespace {

constexpr int kMostPort = 65535;

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

bool is_ipv6(const std::string& name) {
  in6_addr address;
  return ::inet_pton(AF_INET6, name.c_str(), &address) == 1;
}

bool is_ip(const std::string& name) {
  in_addr address;
  return ::inet_pton(AF_INET, name.c_str(), &address) == 1 || is_ipv6(name);
}

bool is_host_name(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  });
}

std::optional<int> parse_port(std::string_view text) {
  int port = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (fault != std::errc{} || end != text.data() + text.size() || port < 0 || port > kMostPort)
    return std::nullopt;
  return port;
}

std::string in_url(const std::string& name) { return is_ipv6(name) ? "[" + name + "]" : name; }

std::string text_of(const Authority& authority) {
  return in_url(authority.name) + (authority.port ? fmt::format(":{}", *authority.port) : "");
}

/// Returns the authority of "http://host:port" or "https://host:port"; the scheme has a port of its own.
std::optional<Authority> parse_origin(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (text.starts_with(scheme)) return parse_authority(text.substr(scheme.size()));
  return std::nullopt;
}

int scheme_port(std::string_view origin) {
  constexpr int kHttp = 80, kHttps = 443;
  return origin.starts_with("https:") ? kHttps : kHttp;
}

/// Returns whether `hosts` has the authority; one without a port has any.
bool has(const std::vector<Authority>& hosts, const Authority& authority) {
  return std::ranges::any_of(hosts, [&](const Authority& each) {
    return each.name == authority.name && (!each.port || each.port == authority.port);
  });
}

/// Text of a client in a message.
std::string shown(std::string_view text) {
  constexpr size_t kMost = 100;
  return std::string(text.substr(0, kMost)) + (text.size() > kMost ? "..." : "");
}

}  // namespace

std::optional<Authority> parse_authority(std::string_view text) {
  const bool has_brackets = text.starts_with('[');
  const size_t name_end = has_brackets ? text.find(']') : std::min(text.find(':'), text.size());
  if (name_end == std::string_view::npos) return std::nullopt;
  Authority result{lower(text.substr(has_brackets, name_end - has_brackets)), std::nullopt};
  if (has_brackets ? !is_ipv6(result.name) : !is_host_name(result.name)) return std::nullopt;
  const std::string_view rest = text.substr(name_end + has_brackets);
  if (rest.empty()) return result;
  if (!rest.starts_with(':')) return std::nullopt;
  result.port = parse_port(rest.substr(1));
  return result.port ? std::optional(result) : std::nullopt;
}

AllowedHosts::AllowedHosts(const std::vector<std::string>& named) {
  for (const std::string& text : named) {
    const auto host = parse_authority(is_ipv6(text) ? "[" + text + "]" : text);
    if (!host) fail("--allow-host {}: expected a host name or an address, alone or with :PORT", text);
    named_.push_back(*host);
  }
}

void AllowedHosts::listen(const Listener& listener) {
  listener_ = listener;
  own_.clear();
  for (const std::string& name : {std::string("localhost"), std::string("127.0.0.1"), std::string("::1"),
                                  lower(listener.host), lower(listener.address)})
    own_.push_back({name, listener.port});
}

/// An address as a number is no name that DNS could point here, so every address of a server that listens to
/// other machines is its own, with any port: it may be forwarded.
bool AllowedHosts::is_host(const Authority& authority) const {
  if (has(named_, authority)) return true;
  if (!listener_.is_loopback && is_ip(authority.name)) return true;
  return has(own_, {authority.name, authority.port.value_or(listener_.port)});
}

/// A page of the same host and port. On loopback the names of this machine are one host.
bool AllowedHosts::is_origin(const Authority& origin, const std::optional<Authority>& host) const {
  return has(named_, origin) || (listener_.is_loopback && has(own_, origin)) ||
         (host && origin.name == host->name && origin.port == host->port.value_or(*origin.port));
}

std::string AllowedHosts::expected() const {
  std::string text = listener_.is_loopback
                         ? fmt::format("localhost, 127.0.0.1 or [::1] with port {}", listener_.port)
                         : "an address as a number";
  for (const Authority& each : named_) text += ", " + text_of(each);
  return text;
}

void AllowedHosts::check(const std::optional<std::string>& host,
                         const std::optional<std::string>& origin) const {
  const auto authority = host ? parse_authority(*host) : std::nullopt;
  if (host && !(authority && is_host(*authority)))
    throw ApiError(
        http::kForbidden,
        fmt::format("Host '{}' is none of this server's: expected {}. Where clients reach it by that "
                    "name, start it with --allow-host {}",
                    shown(*host), expected(), authority ? shown(text_of(*authority)) : "NAME"),
        "", "host_not_allowed");
  if (!origin) return;
  auto page = parse_origin(*origin);
  if (page && !page->port) page->port = scheme_port(*origin);
  if (!page || !is_origin(*page, authority))
    throw ApiError(
        http::kForbidden,
        fmt::format("Origin '{}' is a page of another host: expected one of {}. Where its pages may "
                    "use this server, start it with --allow-host {}",
                    shown(*origin), expected(), page ? shown(text_of(*page)) : "NAME"),
        "", "origin_not_allowed");
}

}  // namespace smelt::server
