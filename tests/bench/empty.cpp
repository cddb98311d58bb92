// The least that a program on SimGrid can do: it is linked with the library and uses none of it.
#include <simgrid/s4u.hpp>

int main(int argc, char**) {
  // Never true, but the linker cannot know and keeps the library.
  if (argc > 1000) simgrid::s4u::Engine engine(std::string("never"));
  return 0;
}
