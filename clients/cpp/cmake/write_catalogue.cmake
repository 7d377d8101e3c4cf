# Writes the cards of CATALOGUE, JSON as `CatalogueService.GetCatalogue` answers it, to TABLE as C++.
cmake_minimum_required(VERSION 3.22)

# Returns a value of a JSON object, or what an absent one means.
function(get result object key absent)
  string(JSON value ERROR_VARIABLE missing GET "${object}" ${key})
  if(missing)
    set(value "${absent}")
  endif()
  set(${result} "${value}" PARENT_SCOPE)
endfunction()

# Returns the initialiser of how many cards a special asks for, by colour.
function(get_condition result card)
  set(colours COLOUR_UNSPECIFIED COLOUR_YELLOW COLOUR_BLUE COLOUR_GREEN COLOUR_ORANGE COLOUR_PURPLE)
  set(counts 0 0 0 0 0 0)
  string(JSON length ERROR_VARIABLE missing LENGTH "${card}" condition)
  if(NOT missing)
    math(EXPR last "${length} - 1")
    foreach(i RANGE ${last})
      string(JSON colour GET "${card}" condition ${i} colour)
      string(JSON count GET "${card}" condition ${i} count)
      list(FIND colours ${colour} at)
      if(at EQUAL -1)
        message(FATAL_ERROR "${CATALOGUE}: no such colour: ${colour}")
      endif()
      list(REMOVE_AT counts ${at})
      list(INSERT counts ${at} ${count})
    endforeach()
  endif()
  list(JOIN counts ", " counts)
  set(${result} "{${counts}}" PARENT_SCOPE)
endfunction()

# Returns the initialiser of a CardInfo.
function(get_row result info)
  get(card "${info}" card CARD_UNSPECIFIED)
  get(kind "${info}" kind CARD_KIND_UNSPECIFIED)
  get(colour "${info}" colour COLOUR_UNSPECIFIED)
  get(special_set "${info}" specialSet MODE_UNSPECIFIED)
  foreach(text id name effect)
    get(${text} "${info}" ${text} "")
  endforeach()
  foreach(number deck cost income inhabitants hearts copies uses)
    get(${number} "${info}" ${number} 0)
  endforeach()
  get_condition(condition "${info}")
  string(CONCAT row
    "{v1::${card}, \"${id}\", R\"(${name})\", v1::${kind}, ${deck}, v1::${colour}, ${cost}, ${income}, "
    "${inhabitants}, ${hearts}, ${copies}, ${condition}, v1::${special_set}, R\"(${effect})\", ${uses}}")
  set(${result} "${row}" PARENT_SCOPE)
endfunction()

file(READ "${CATALOGUE}" json)
string(JSON cards GET "${json}" cards)
string(JSON length LENGTH "${cards}")
math(EXPR last "${length} - 1")
set(rows "")
foreach(i RANGE ${last})
  string(JSON info GET "${cards}" ${i})
  get_row(row "${info}")
  string(APPEND rows "    ${row},\n")
endforeach()

file(WRITE "${TABLE}"
"// Written by write_catalogue.cmake; don't edit.
#include \"happycity/catalogue.h\"

namespace happycity {
namespace {

const CardInfo table[] = {
${rows}};

}  // namespace

std::span<const CardInfo> cards() {
  return table;
}

}  // namespace happycity
")
