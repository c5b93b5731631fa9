-- Whose token an approval was given with, where that is not the approver.
ALTER TABLE approval ADD COLUMN owner TEXT CHECK (owner <> '');
