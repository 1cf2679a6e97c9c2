// What a ledger came to, for the terminal and as files.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "ledger/judge.h"
#include "report/json.h"

namespace shardsim {

struct LedgerResult {
  std::vector<RowResult> rows;  // in the order of the files; without points: not simulated
  std::size_t commands = 0;     // executed, each once
};

int failed_rows(const LedgerResult& result);

// One line a row, by verdict, failures last.
std::string ledger_summary(const LedgerResult& result);
// Every point, figure and command of each row.
std::string ledger_details(const LedgerResult& result);
// ids and statements, nothing simulated.
std::string ledger_list(const std::vector<LedgerRow>& rows);
Json ledger_list_json(const std::vector<LedgerRow>& rows);

Json ledger_json(const LedgerResult& result);
// ledger.md, ledger.json and ledger.csv (a line a point) in a directory.
std::vector<OutputFile> ledger_files(const LedgerResult& result, const std::string& directory);

}  // namespace shardsim
