// A minimal SimGrid program: linked with the library, but does not use it.
#include <simgrid/s4u.hpp>

int main(int argc, char**) {
  // Never true, but the linker cannot know that and keeps the library.
  if (argc > 1000) simgrid::s4u::Engine engine(std::string("never"));
  return 0;
}
