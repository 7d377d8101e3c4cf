#include "happycity/catalogue.h"

#include <cstddef>

namespace happycity {

const CardInfo& info_of(v1::Card card) {
  static constexpr CardInfo unknown;
  const std::span<const CardInfo> all = cards();
  const auto number = static_cast<std::size_t>(card);
  return number >= 1 && number <= all.size() ? all[number - 1] : unknown;
}

}  // namespace happycity
