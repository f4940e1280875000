// Registration of the families of operations, each compiled by itself.
#pragma once

namespace isthmus::shlo {

class ShloDialect;

void addUnaryOps(ShloDialect& dialect);
void addBinaryOps(ShloDialect& dialect);
void addDataMovementOps(ShloDialect& dialect);
void addReductionOps(ShloDialect& dialect);
void addContractionOps(ShloDialect& dialect);
void addControlFlowOps(ShloDialect& dialect);
void addCollectiveOps(ShloDialect& dialect);
void addDynamicOps(ShloDialect& dialect);
void addMiscOps(ShloDialect& dialect);

}  // namespace isthmus::shlo
