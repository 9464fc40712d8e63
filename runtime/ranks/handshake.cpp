#include "runtime/ranks/handshake.h"

#include <limits>
#include <utility>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr std::string_view kProtocol = "smelt hub 1";

std::string body_of(const Introduction& who) {
  return BodyWriter()
      .number(static_cast<uint64_t>(who.rank))
      .number(static_cast<uint64_t>(who.size))
      .number(static_cast<uint64_t>(who.process))
      .text(who.host)
      .body();
}

int small(uint64_t value) {
  if (value > static_cast<uint64_t>(std::numeric_limits<int>::max())) fail("a rank of number {}", value);
  return static_cast<int>(value);
}

Introduction introduction_of(std::string_view body) {
  BodyReader reader(body);
  Introduction who;
  who.rank = small(reader.number());
  who.size = small(reader.number());
  who.process = small(reader.number());
  who.host = reader.text();
  return who;
}

/// Computes a proof. It includes the direction, so that no end can reflect the other's proof.
Digest proof(const std::string& secret, std::string_view direction, const Digest& hub, const Digest& rank,
             std::string_view introduction) {
  return hmac_sha256(
      secret,
      BodyWriter().text(kProtocol).text(direction).digest(hub).digest(rank).text(introduction).body());
}

}  // namespace

std::string describe(const Introduction& who) {
  return fmt::format("rank {} (host {}, process {})", who.rank, who.host, who.process);
}

HubHandshake::HubHandshake(std::string secret) : secret_(std::move(secret)) {}

std::string HubHandshake::challenge() const { return BodyWriter().text(kProtocol).digest(own_).body(); }

std::optional<Introduction> HubHandshake::verify(std::string_view hello) {
  BodyReader reader(hello);
  other_ = reader.digest();
  const std::string introduction = reader.text();
  if (!are_equal(reader.digest(), proof(secret_, "rank", own_, other_, introduction))) return std::nullopt;
  return introduction_of(introduction);
}

std::string HubHandshake::welcome() const {
  return BodyWriter().digest(proof(secret_, "hub", own_, other_, "")).body();
}

RankHandshake::RankHandshake(std::string secret, Introduction who)
    : secret_(std::move(secret)), who_(std::move(who)) {}

std::string RankHandshake::hello(std::string_view challenge) {
  BodyReader reader(challenge);
  const std::string protocol = reader.text();
  if (protocol != kProtocol) fail("it speaks '{}', expected '{}'", protocol, kProtocol);
  other_ = reader.digest();
  const std::string introduction = body_of(who_);
  return BodyWriter()
      .digest(own_)
      .text(introduction)
      .digest(proof(secret_, "rank", other_, own_, introduction))
      .body();
}

bool RankHandshake::verify(std::string_view welcome) const {
  return are_equal(BodyReader(welcome).digest(), proof(secret_, "hub", other_, own_, ""));
}

}  // namespace smelt
