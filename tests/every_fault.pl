#!/usr/bin/env perl
# Faults that nobody chose, for ./dev mutate every: every_fault.pl STEP FIRST prints FILE | LINE | TEXT | TESTS. TEXT is
# put in the place of that line.
#
# It counts the lines of the files below that have an operator or a constant. Every STEP-th of them, from number FIRST,
# gets one fault: at its first operator or constant.
use strict;
use warnings;
no warnings 'portable';

my $logs = 'ForeignLog.*:Log*:LongTurns.*:OddLog.*:TimeUnits.*:DateRange.*:OddRow.*:SourceTable.*';
my $traces = 'TraceFile.*:Trace.*:Pieces.*:Branches.*:VllmRun.*:SessionFile.*:SessionLines.*:FuzzCorpus.*:AgentTrace.*';
my $readers = "$logs:$traces:Calls.*:Estimate.*:Guess.*:Leval.*:ShareGpt.*:Sources.*:RequestWorkload.*";
my $sweeps = 'Sweep*:Sample.*:PointKey.*:ResultsFiles.*:JournalModes.*:Workers.*:Slurm*:FakeSlurm.*:Replications.*-SweepCommand.LosesNothing*';
my $slow = '-PlanSizes.AreBought*:PlanCommand.NotesThatAMachine*:PlanCommand.IsNotClear*:PlanFile.SearchesStorage*:PlanFile.IsAsGood*'
  . ':DrawsOfCompare.SayInHowMany*:PricesCommand.OfAPlan*';
my $plans = 'PairedDifference.*:RunCommand.*:PlanSearch.*:PlanFlips.*:PlanWhy.*:PlanAdvice.*:Perturb.*:Judge.*:PlanText.*:PlannedTiers.*:PlanSizes.*:SizeSettings.*:PlanDraws.*:PlanFile.*:PlanCommand.*:ModelIntervals.*';
my $lines = 'Launch*:ChangedFlags.*:Connectors.*:Deployments.*:FlagTable.*:FlagValues.*:IgnoredFlags.*:KvFormats.*:Manifests.*'
  . ':Quantization.*:RecipesOfVllm.*:ShellWords.*:Spellings.*:WholePrompts.*:YamlFile.*';
my $fits = 'Fit*:PromptHits.*:HitShareCommand.*:HardwareFile.*:EngineTimes.*:Terminal.ShowsThatAnEngine*';
# The first pattern that a file matches names the tests that have to notice its faults.
my @tests = (
  [qr{^sim/launch/}, $lines],
  [qr{^sim/(fit/|text/fit_text)}, $fits],
  [qr{^sim/text/run_comparison}, 'ValidateRun.*:RunCauses.*'],
  [qr{^sim/(observe/|text/observation_text)}, 'Observ*:History.*:BucketQuantile.*:HttpGet.*:Redirected.*:Prometheus.*:Snapshot.*:EngineMetrics.*:Clocks.*'],
  [qr{^sim/plan/(capacity|replicate)},
   "Capacity*:LoadOfAScenario.*:PercentileShare.*:Replications.*:Question.WithoutALength*:ResultFaults.OfAKilledComparisonAreKeptForAResume"],
  [qr{^sim/plan/break_even}, "BreakEven*:Prices*:$plans$slow"],
  [qr{^sim/plan/model_draws}, "AffordableDraws.*:Draw*:OutsideValidation.*:$plans$slow"],
  [qr{^sim/plan/(plan|sizes)}, "$plans$slow"],
  [qr{^sim/advise/purchase}, "Prices*:$plans$slow"],
  [qr{^sim/advise/draws}, "AffordableDraws.*:Draw*:OutsideValidation.*:$plans$slow"],
  [qr{^sim/advise/}, "$plans$slow"],
  [qr{^sim/plan/}, $sweeps],
  [qr{^sim/workload/}, $readers]);
my %other = ('==' => '!=', '!=' => '==', '<' => '<=', '<=' => '<', '>' => '>=', '>=' => '>', '&&' => '||', '||' => '&&',
  '+' => '-', '-' => '+', '*' => '/', '/' => '*', '%' => '/', '+=' => '-=', '-=' => '+=', '*=' => '/=', '/=' => '*=',
  '?' => '&& false ?', 'true' => 'false', 'false' => 'true', '++' => '--', '--' => '++');

# 0 becomes 1, any other number twice itself.
sub other_number {
  my ($number, $suffix) = $_[0] =~ /^(0x[0-9a-fA-F']+|[0-9.']+(?:e[-+]?\d+)?)(\w*)$/ or return;
  $number =~ tr/'//d;
  my $twice = 2 * ($number =~ /^0x/ ? hex $number : $number) || 1;
  $twice .= '.0' if $number =~ /[.e]/ && $twice =~ /^\d+$/;
  return $twice . $suffix;
}

# The line with a fault at its first operator or constant; undef where it has none.
sub faulty {
  my ($line) = @_;
  my $has_text = $line =~ /"|to_string|std::string\(/;
  while ($line =~ /\G(.*?)(
      "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)' | \/\/.* |
      (?<=\s)(?:[-+*\/]=|[=!<>]=|&&|\|\||[-+*\/%<>?])(?=\s|$) | \+\+|-- | !(?=[\w(]) |
      \b(?:true|false)\b | (?<![\w.])(?:0x[0-9a-fA-F']+|\d[\d']*(?:\.\d+)?(?:e[-+]?\d+)?)[uUlL]*\b)/gx) {
    my ($token, $begin) = ($2, $-[2]);
    my $new = $other{$token};
    if ($token =~ m{^//}) {
      return;
    } elsif ($token =~ /^"/) {
      # A name or a key; sentences are for people.
      next if $token =~ /\s|\\/;
      $new = $token eq '""' ? '"x"' : substr($token, 0, -1) . 'x"';
    } elsif ($token =~ /^'(.)'$/) {
      $new = "'" . chr(ord($1) + 1) . "'";
      next if $new =~ /\\|'''/;
    } elsif ($token =~ /^'/) {
      $new = "' '";
    } elsif ($token eq '!') {
      $new = '';
    } elsif ($token =~ /^\d/) {
      $new = other_number($token) // next;
    } elsif ($token =~ /^\+=?$/ && $has_text) {
      next;  # joins texts
    }
    substr($line, $begin, length $token) = $new;
    return $line;
  }
  return;
}

my ($step, $first) = @ARGV;
my ($count, $is_raw) = (0, 0);
my @folders = qw(launch launch/flags launch/manifest fit observe plan plan/sweep advise workload/readers workload/logs);
my @files = map { "sim/$_.cpp" } qw(workload/calls workload/pieces text/fit_text text/observation_text text/run_comparison_text);
for my $file (sort @files, map { glob "sim/$_/*.cpp" } @folders) {
  my ($tests) = map { $_->[1] } grep { $file =~ $_->[0] } @tests;
  open my $in, '<', $file or die "every_fault.pl: $file: $!\n";
  while (my $line = <$in>) {
    chomp $line;
    # Not of the text of a raw literal, nor where the types are checked.
    my $was_raw = $is_raw;
    $is_raw = 1 if $line =~ /R"\w*\(/;
    $is_raw = 0 if $line =~ /\)\w*"/;
    next if $was_raw || $is_raw || $line =~ /^\s*(#|using |static_assert|namespace |template)/;
    my $fault = faulty($line) // next;
    ++$count;
    print "$file | $. | $fault | $tests\n" if $count >= $first && ($count - $first) % $step == 0;
  }
}
